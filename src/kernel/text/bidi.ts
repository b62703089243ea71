/**
 * Characters that change the direction of the following text (Unicode Standard Annex #9, 2): U+202A
 * to U+202E.
 */
const directionChanging = /[\u202a-\u202e\u2066-\u2068]/
/**
 * Characters that open and close an isolate; inside a value they could close the isolate around it.
 */
const isolateCharacters = /[\u2066-\u2069]/g

/**
 * A value for use in a sentence. A value that would change the direction of the text after it is
 * wrapped in an isolate (FSI, PDI); others are unchanged.
 */
export const isolate = (value: string): string =>
  directionChanging.test(value) ? `\u2068${value.replace(isolateCharacters, "")}\u2069` : value
