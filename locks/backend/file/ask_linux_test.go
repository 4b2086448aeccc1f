package file

// askDelay: a holder is told at once.
const askDelay = 0
