/** One address a line; spaces and empty lines count for nothing. */
export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean)
}

/** The names of what a table or a form has, in their order. */
export const namesIn = <Values extends object>(
  values: Values,
): readonly (keyof Values & string)[] =>
  Object.keys(values).filter((name): name is keyof Values & string => Object.hasOwn(values, name))
