package decay

import (
	"math/big"
	"math/bits"
)

// The tables of exp2neg and log2, 6 KiB, truncated to 128 bits. They are made
// from integer square roots when the program starts (about 0.1 ms), so that no
// page of literals has to be believed.
var (
	coarse = powers(7, 128)  // coarse[i] = 2^(-i/128)
	fine   = powers(14, 256) // fine[j] = 2^(-j/16384)
	guess  = guesses(coarse) // guess[i] = floor(128·log2(1 + i/256))
)

// tableBits is the precision at which the tables are made: 256 products, each
// truncated at it, stay far above the 128 bits that are kept.
const tableBits = 192

// powers returns 2^(-i/2^k) for i below n, which is at most 256. One itself is
// represented by the greatest fraction.
func powers(k, n int) (table [256]fixed) {
	one := new(big.Int).Lsh(big.NewInt(1), tableBits)
	root := new(big.Int).Rsh(one, 1) // 2^(-1/2^0)
	for ; k > 0; k-- {
		root.Sqrt(root.Lsh(root, tableBits))
	}
	table[0] = fixed{^uint64(0), ^uint64(0)}
	power := one
	for i := 1; i < n; i++ {
		power = new(big.Int).Mul(power, root)
		power.Rsh(power, tableBits)
		kept := new(big.Int).Rsh(power, tableBits-128)
		table[i].lo = low64(kept)
		table[i].hi = low64(kept.Rsh(kept, 64))
	}
	return table
}

// guesses returns for each i the last g with 2^(g/128) <= 1 + i/256. Equality
// occurs for i = 0 alone and no other pair is closer than 2^-20, so the upper
// words decide.
func guesses(coarse [256]fixed) (table [256]uint8) {
	g := 0
	for i := range table {
		for g < 127 {
			if hi, _ := bits.Mul64(coarse[g+1].hi, 256+uint64(i)); hi < 256 {
				break
			}
			g++
		}
		table[i] = uint8(g)
	}
	return table
}

// low64 returns the low 64 bits of x >= 0, whatever the word size.
func low64(x *big.Int) uint64 {
	return new(big.Int).And(x, new(big.Int).SetUint64(^uint64(0))).Uint64()
}
