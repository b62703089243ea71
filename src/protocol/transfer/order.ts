// The order in which the data of organizations is imported. Splitting and importing a file both use
// this list, so that no part needs a later one.

/** The data of one organization in a file, complete or partial, with JSON field names. */
export type OrganizationPiece = { readonly orgId: string } & Readonly<Record<string, unknown>>

/**
 * The kinds of data of an organization, each after its dependencies: a policy after its identity
 * providers, a project grant after the organization that receives it. All organizations' data of
 * one kind comes before the next kind.
 */
export const orderedKinds: readonly string[] = [
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

/** The kind of a JSON field, which may also use its proto name: `human_users`. */
const kindOf = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The position of a field in the order; unknown fields come last, to be rejected by name. */
export function rankOf(name: string): number {
  const at = orderedKinds.indexOf(kindOf(name))
  return at < 0 ? orderedKinds.length : at
}

/** A value as data of an organization; undefined if it has no organization ID. */
export function toPiece(value: unknown): OrganizationPiece | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const { org_id: named, ...fields }: Readonly<Record<string, unknown>> = { ...value }
  const { orgId = named } = fields
  return typeof orgId === "string" && orgId !== "" ? { ...fields, orgId } : undefined
}

/** The fields of a piece without the organization ID. */
const fieldsOf = ({ orgId: _, ...fields }: OrganizationPiece): readonly [string, unknown][] =>
  Object.entries(fields)

const hasKind = (piece: OrganizationPiece, kind: string): boolean =>
  fieldsOf(piece).some(([name]) => kindOf(name) === kind)

/** Whether an OrgState in JSON is inactive. */
const isInactive = (state: unknown): boolean => state === 2 || state === "ORG_STATE_INACTIVE"

/**
 * Moves the states of organizations to the organizations themselves. An inactive organization is
 * created inactive in one step: otherwise its users could sign in until the last part is imported,
 * or permanently if the import stops before.
 */
export function createStateCollector() {
  const createdOrgs = new Set<string>()
  const states = new Map<string, unknown>()
  return {
    collect: (piece: OrganizationPiece): void => {
      const { orgId } = piece
      if (hasKind(piece, "org")) createdOrgs.add(orgId)
      for (const [name, state] of fieldsOf(piece)) {
        // If a file contains both states, inactive is the safe one.
        if (kindOf(name) === "orgState" && !isInactive(states.get(orgId))) states.set(orgId, state)
      }
    },
    /**
     * A piece after all are collected: with its state if it contains the organization, without it
     * otherwise.
     */
    withState: (piece: OrganizationPiece): OrganizationPiece => {
      const { orgId } = piece
      if (!createdOrgs.has(orgId) || !states.has(orgId)) return piece
      const others = fieldsOf(piece).filter(([name]) => kindOf(name) !== "orgState")
      const state = hasKind(piece, "org") ? { orgState: states.get(orgId) } : {}
      return { ...Object.fromEntries(others), ...state, orgId }
    },
    /** Whether that leaves a piece unchanged, regardless of the organization's position. */
    isUnaffected: (piece: OrganizationPiece): boolean =>
      hasKind(piece, "org") || !hasKind(piece, "orgState"),
  }
}

/** The fields of a piece by position in the order. */
export function splitByRank(piece: OrganizationPiece): ReadonlyMap<number, OrganizationPiece> {
  const { orgId } = piece
  const ranks = new Map<number, OrganizationPiece>()
  for (const [name, value] of fieldsOf(piece)) {
    const isStateOfOrg = kindOf(name) === "orgState" && hasKind(piece, "org")
    const rank = isStateOfOrg ? rankOf("org") : rankOf(name)
    ranks.set(rank, { ...ranks.get(rank), [name]: value, orgId })
  }
  return ranks
}

/** Splits the pieces by kind and sorts them. */
export function sortPieces(pieces: readonly OrganizationPiece[]): readonly OrganizationPiece[] {
  const states = createStateCollector()
  for (const piece of pieces) states.collect(piece)
  const sorted: OrganizationPiece[][] = [...orderedKinds, ""].map(() => [])
  for (const piece of pieces) {
    for (const [rank, part] of splitByRank(states.withState(piece))) sorted[rank]?.push(part)
  }
  return sorted.flat()
}
