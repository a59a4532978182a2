package decay_test

import (
	"fmt"

	"github.com/iamfaham/recolva/pkg/decay"
)

const day = 24 * 60 * 60 * 1000 // ms

func Example() {
	kind, _ := decay.KindByName("exponential")
	model, err := kind.New(7 * day)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := int64(1750000000000)
	for _, days := range []int64{0, 7, 14, 30} {
		record := decay.Record{LastAccessedMillis: now - days*day}
		fmt.Printf("%2d days: %.4f\n", days, model.Score(record, now))
	}
	// Output:
	//  0 days: 1.0000
	//  7 days: 0.5000
	// 14 days: 0.2500
	// 30 days: 0.0513
}

func ExampleKind_New() {
	kind, _ := decay.KindByName("power-law")
	_, err := kind.New(7*day, 20)
	fmt.Println(err)
	// Output: exponent must be between 0.1 and 10, got 20
}

func ExampleExponentialScore() {
	score, err := decay.ExponentialScore(1000000, 87400000, day)
	fmt.Println(score, err)
	// Output: 0.5 <nil>
}

func ExamplePowerLawScore() {
	score, err := decay.PowerLawScore(1000000, 87400000, day, 1, 0.5)
	fmt.Println(score, err)
	// Output: 0.25 <nil>
}

func ExampleDecider() {
	kind, _ := decay.KindByName("power-law")
	model, err := kind.New(day, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	decider := decay.NewDecider(model, 0.25)
	now := int64(1750000000000)
	for _, age := range []int64{day - 1, day, day + 1} {
		record := decay.Record{LastAccessedMillis: now - age, Importance: 0.5}
		fmt.Println(decider.Prune(record, now)) // equality retains
	}
	// Output:
	// false
	// false
	// true
}

func ExampleHalfLife() {
	fmt.Println(decay.HalfLife(3, 10)) // any unit: here three ticks of ten
	// Output: 0.8122523963562355
}

func ExamplePower() {
	fmt.Println(decay.Power(0.06, 5, 1, 1)) // exactly the double nearest to 0.06/6
	// Output: 0.01
}
