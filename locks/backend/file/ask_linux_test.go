package file

// askDelay: a holder learns of a request at once.
const askDelay = 0
