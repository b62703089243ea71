import type { Options } from "../../../domain/idp/index.ts"

/** An existing user who may be the one that came from a provider. */
export type Candidate = {
  readonly userId: string
  readonly by: "email" | "username"
  /** Whether the user has proved here that they receive email at the address. */
  readonly emailVerified: boolean
  /** Whether the user has administrator roles; then only their own proof can link the account. */
  readonly isAdministrator: boolean
}

/** The input of the rule. */
export type RuleInput = {
  readonly options: Options
  readonly identity: {
    readonly email: string
    /** Whether the provider states that the address is verified. */
    readonly emailVerified: boolean
    /**
     * Whether an email address from the provider is sufficient to link an account: for an
     * organization's own provider and its users, and for a provider of the instance that is trusted
     * for addresses.
     */
    readonly isEmailTrusted: boolean
    /** Whether the provider returned everything that a new account needs. */
    readonly isComplete: boolean
  }
  /** The user that the external account is linked to; undefined if there is none. */
  readonly linkedUser?: string | undefined
  readonly candidates: readonly Candidate[]
}

/** The decision for a sign-in with a provider. */
export type AccountDecision =
  | { readonly kind: "sign in"; readonly userId: string }
  /**
   * Automatic linking: both sides have verified the address, and the provider is trusted for it.
   */
  | { readonly kind: "link"; readonly userId: string }
  | { readonly kind: "create" }
  | { readonly kind: "ask"; readonly mayLink: boolean; readonly mayCreate: boolean }
  | { readonly kind: "refuse" }
  /** The user's organization does not accept this provider. */
  | { readonly kind: "barred" }

/**
 * The only rule that decides which account a user from a provider receives. An existing account is
 * linked without its owner's proof only if both sides have verified the same address, no other
 * account has it, and the provider is configured to link and is trusted for addresses. A login name
 * proves nothing; it only makes the page ask.
 */
export function decide({ options, identity, linkedUser, candidates }: RuleInput): AccountDecision {
  if (linkedUser !== undefined) return { kind: "sign in", userId: linkedUser }
  const { isLinkingAllowed: mayLink, isCreationAllowed: mayCreate } = options
  const auto =
    mayLink && options.autoLinking === "email" ? candidatesWithAddress(identity, candidates) : []
  const [only, ...others] = auto
  if (only && others.length === 0 && !only.isAdministrator) {
    return { kind: "link", userId: only.userId }
  }
  const isFree = candidates.length === 0
  if (mayCreate && options.isAutoCreation && identity.isComplete && isFree) {
    return { kind: "create" }
  }
  return mayLink || mayCreate ? { kind: "ask", mayLink, mayCreate } : { kind: "refuse" }
}

/** Users who have verified the address that the provider vouches for. */
function candidatesWithAddress(
  { email, emailVerified, isEmailTrusted }: RuleInput["identity"],
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (email === "" || !emailVerified || !isEmailTrusted) return []
  const same = candidates.filter(({ by }) => by === "email")
  // An account with the unverified address may belong to its owner, so no account is linked
  // automatically.
  return same.every((each) => each.emailVerified) ? same : []
}
