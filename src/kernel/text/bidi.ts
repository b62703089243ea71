/** What turns the direction of what follows it (Unicode Standard Annex #9, 2): U+202A to U+202E. */
const turning = /[\u202a-\u202e\u2066-\u2068]/
/** What opens and closes an isolate; one inside a value could close the isolate around it. */
const isolating = /[\u2066-\u2069]/g

/**
 * A value for a sentence. One that would turn the direction of the words behind it is put into an
 * isolate of its own (FSI, PDI); others stay as they are.
 */
export const isolated = (value: string): string =>
  turning.test(value) ? `\u2068${value.replace(isolating, "")}\u2069` : value
