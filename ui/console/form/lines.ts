/** One address a line; spaces and empty lines count for nothing. */
export function linesOf(text: string): string[] {
  return text.split(/\s+/).filter(Boolean)
}
