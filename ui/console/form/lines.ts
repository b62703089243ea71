/** Splits a text into lines; ignores spaces and empty lines. */
export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean)
}

/** The keys of an object, in order. */
export const namesIn = <Values extends object>(
  values: Values,
): readonly (keyof Values & string)[] =>
  Object.keys(values).filter((name): name is keyof Values & string => Object.hasOwn(values, name))
