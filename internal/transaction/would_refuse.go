package transaction

// WouldRefuse lists the guards that a dry-run passes and a mutation of the same
// files would not: other hard links, network file systems. It is nil in a
// mutation, whose Begin refuses by itself.
func (t *Transaction) WouldRefuse() (texts []string) {
	if t.opts.Mutate || t.files.input == nil {
		return nil
	}
	mutating := *t.engine
	mutating.opts.Mutate = true
	if err := mutating.checkNames(t.files); err != nil {
		texts = append(texts, err.Error())
	}
	for _, m := range t.files.all() {
		if err := mutating.checkNetwork(m); err != nil {
			texts = append(texts, err.Error())
		}
	}
	return texts
}
