import type { DecisionContext, Editor, Erasure } from "../../store/index.ts"

/**
 * Who verified an email address or phone number: the user, with a code or link sent there; an
 * administrator with a permission on the instance, or the server; an identity provider; or the
 * user's organization, which includes its administrators, imports and scripts.
 */
export type Verifier =
  | { readonly by: "user" | "instance" | "organization" }
  | { readonly by: "provider"; readonly idpId: string }

/** The verifier; absent if the address is unverified or was verified before this was stored. */
export type VerifiedBy = { readonly verifier?: Verifier }

export const byUser: Verifier = { by: "user" }
export const byOrganization: Verifier = { by: "organization" }
const byInstance: Verifier = { by: "instance" }

/** Who verifies an address that the caller marks as verified. */
export const verifierFrom = ({
  caller,
  holdsOnInstance,
}: Pick<DecisionContext, "caller" | "holdsOnInstance">): Verifier =>
  caller.kind === "system" || (caller.kind === "user" && holdsOnInstance?.("user.write"))
    ? byInstance
    : byOrganization

/** Whether a repeated verification by another verifier is stronger and should be stored. */
export const isStronger = (verifier: Verifier, before: Verifier = byOrganization): boolean =>
  verifierRanks[verifier.by] > verifierRanks[before.by]

/** The weaker of two verifiers. */
export const weaker = (one: Verifier, other: Verifier): Verifier =>
  isStronger(one, other) ? other : one

/**
 * Whether the user verifies an address that only the organization or a provider has verified so
 * far.
 */
export const addsUserProof = (verifier: Verifier, before: Verifier | undefined): boolean =>
  verifier.by === "user" && before?.by !== "user" && before?.by !== "instance"

const verifierRanks: Readonly<Record<Verifier["by"], number>> = {
  organization: 0,
  provider: 1,
  instance: 2,
  user: 3,
}

type VerifyingEvent = {
  readonly data: VerifiedBy
  readonly editor: Editor
  readonly erase?: Erasure | null
}

/**
 * Who verified an address in an event. Events of earlier versions don't contain it: those that
 * erase a code used it, which proves access only if it was sent (`isReturned`: the latest code was
 * returned to the caller). Anything else counts as verified by the organization.
 */
export function verifierOfEvent(
  { data, editor, erase }: VerifyingEvent,
  isReturned: boolean,
): Verifier {
  if (data.verifier) return data.verifier
  if (erase) return isReturned ? byOrganization : byUser
  return unknownVerifier(editor)
}

/**
 * Who verified the initial email address of a user. Earlier versions did not store it: users who
 * registered with a code have no editor, and those from a provider have a link in the following
 * event.
 */
export function initialVerifier(verifier: Verifier | undefined, editor: Editor): Verifier {
  if (verifier) return verifier
  return isAnonymous(editor) ? byUser : unknownVerifier(editor)
}

/** The verifier of an address that was verified before verifiers were stored. */
export const unknownVerifier = (editor: Editor): Verifier =>
  isSystem(editor) ? byInstance : byOrganization

export const isAnonymous = ({ user, client }: Editor): boolean => user === "" && client === ""

/** System processes act without a client. */
const isSystem = ({ user, client }: Editor): boolean => user !== "" && client === ""
