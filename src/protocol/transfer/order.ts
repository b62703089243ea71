// In which order what organisations have is taken over. Whoever splits a file into parts and
// whoever takes parts over go by this one list, so that no part needs what comes in a later one.

/** What a file has of one organisation: all of it, or some, as JSON names it. */
export type Piece = { readonly orgId: string } & Readonly<Record<string, unknown>>

/**
 * What organisations have, each behind what it needs: a policy behind the providers that it names,
 * a grant behind who is granted to, which may be another organisation. What all of them have of a
 * kind comes before the next kind.
 */
export const kinds: readonly string[] = [
  "org",
  "orgState",
  "domainPolicy",
  "domains",
  "oidcSettings",
  "labelPolicy",
  "lockoutPolicy",
  "passwordComplexityPolicy",
  "privacyPolicy",
  "oidcIdps",
  "jwtIdps",
  "loginPolicy",
  "loginTexts",
  "initMessages",
  "passwordResetMessages",
  "verifyEmailMessages",
  "verifyPhoneMessages",
  "domainClaimedMessages",
  "passwordlessRegistrationMessages",
  "verifySmsOtpMessages",
  "verifyEmailOtpMessages",
  "inviteUserMessages",
  "messages",
  "actions",
  "triggerActions",
  "projects",
  "projectRoles",
  "apiApps",
  "oidcApps",
  "appKeys",
  "humanUsers",
  "machineUsers",
  "machineKeys",
  "userMetadata",
  "userLinks",
  "projectGrants",
  "userGrants",
  "orgMembers",
  "projectMembers",
  "projectGrantMembers",
]

/** A field by its name in JSON, which may also be that of the book: `human_users`. */
const kindOf = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The place of a field in the order; what is no kind comes last, to be refused by its name. */
export function rankOf(name: string): number {
  const at = kinds.indexOf(kindOf(name))
  return at < 0 ? kinds.length : at
}

/** A value as a piece of an organisation; undefined where it names none. */
export function pieceOf(value: unknown): Piece | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const { org_id: named, ...fields }: Readonly<Record<string, unknown>> = { ...value }
  const { orgId = named } = fields
  return typeof orgId === "string" && orgId !== "" ? { ...fields, orgId } : undefined
}

/** What a piece says, without whose it is. */
const fieldsOf = ({ orgId: _, ...fields }: Piece): readonly [string, unknown][] =>
  Object.entries(fields)

const says = (piece: Piece, kind: string): boolean =>
  fieldsOf(piece).some(([name]) => kindOf(name) === kind)

/** OrgState, as JSON says that one is stopped. */
const isStopped = (state: unknown): boolean => state === 2 || state === "ORG_STATE_INACTIVE"

/**
 * Puts what a file says of the state of organisations to the organisations themselves. One that is
 * stopped is made so, in one step: else those who are in it could sign in until the last part is
 * taken, and for good where that one never comes.
 */
export function statesOf() {
  const made = new Set<string>()
  const states = new Map<string, unknown>()
  return {
    see: (piece: Piece): void => {
      const { orgId } = piece
      if (says(piece, "org")) made.add(orgId)
      for (const [name, state] of fieldsOf(piece)) {
        // Where a file says both, stopped is what is safe.
        if (kindOf(name) === "orgState" && !isStopped(states.get(orgId))) states.set(orgId, state)
      }
    },
    /** A piece once all are seen: its state is where the organisation is, and nowhere else. */
    settled: (piece: Piece): Piece => {
      const { orgId } = piece
      if (!made.has(orgId) || !states.has(orgId)) return piece
      const others = fieldsOf(piece).filter(([name]) => kindOf(name) !== "orgState")
      const state = says(piece, "org") ? { orgState: states.get(orgId) } : {}
      return { ...Object.fromEntries(others), ...state, orgId }
    },
    /** Whether that leaves a piece as it is, wherever the organisation stands. */
    isSettled: (piece: Piece): boolean => says(piece, "org") || !says(piece, "orgState"),
  }
}

/** The fields of a settled piece that are sent together, each with its place in the order. */
export function ranksOf(piece: Piece): ReadonlyMap<number, Piece> {
  const { orgId } = piece
  const ranks = new Map<number, Piece>()
  for (const [name, value] of fieldsOf(piece)) {
    const isOfItself = kindOf(name) === "orgState" && says(piece, "org")
    const rank = isOfItself ? rankOf("org") : rankOf(name)
    ranks.set(rank, { ...ranks.get(rank), [name]: value, orgId })
  }
  return ranks
}

/** The same organisations as pieces of one kind each, in the order. */
export function inOrder(pieces: readonly Piece[]): readonly Piece[] {
  const states = statesOf()
  for (const piece of pieces) states.see(piece)
  const sorted: Piece[][] = [...kinds, ""].map(() => [])
  for (const piece of pieces) {
    for (const [rank, part] of ranksOf(states.settled(piece))) sorted[rank]?.push(part)
  }
  return sorted.flat()
}
