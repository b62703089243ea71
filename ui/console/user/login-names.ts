/**
 * The login names to display: omits names that only add an organization domain to a name that is
 * unique to the user. A name in the form of an address may belong to another user who verified it,
 * unless it is the user's own verified address; digits may be a phone number.
 */
export function visibleLoginNames(
  names: readonly string[],
  verifiedEmail: string | undefined,
): readonly string[] {
  const isOwnAddress = (name: string) =>
    name.toLowerCase() === verifiedEmail?.toLowerCase() || /^[^@]*\p{L}[^@]*$/u.test(name)
  const short = names.filter(isOwnAddress)
  return names.filter((name) => !short.some((each) => name.startsWith(`${each}@`)))
}
