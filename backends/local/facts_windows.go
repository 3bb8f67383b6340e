package local

func learnFacts() facts { return facts{} }
