/**
 * The login names to show: without those that only add a domain of the organization to another one
 * that is the user's alone. A name that is an address may be somebody else's who has proven it,
 * unless it is the user's own verified address; digits may be a phone number.
 */
export function shownLoginNames(
  names: readonly string[],
  verifiedEmail: string | undefined,
): readonly string[] {
  const isTheirs = (name: string) =>
    name.toLowerCase() === verifiedEmail?.toLowerCase() || /^[^@]*\p{L}[^@]*$/u.test(name)
  const short = names.filter(isTheirs)
  return names.filter((name) => !short.some((each) => name.startsWith(`${each}@`)))
}
