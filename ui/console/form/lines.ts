/** One address a line; spaces and empty lines count for nothing. */
export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean)
}

/** The names of a table, in the order in which it has them. */
export const namesIn = <Name extends string>(
  table: Readonly<Record<Name, unknown>>,
): readonly Name[] => Object.keys(table).filter((name): name is Name => Object.hasOwn(table, name))
