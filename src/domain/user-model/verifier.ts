import type { Decision, Editor, Erasure } from "../../store/index.ts"

/**
 * Who verified an email address or a phone number: the user, by a code or link that was sent there;
 * an administrator whose permission is on the instance, or the server itself; an identity provider;
 * or the user's organization: its administrators, its imports, its scripts.
 */
export type Verifier =
  | { readonly by: "user" | "instance" | "organization" }
  | { readonly by: "provider"; readonly idpId: string }

/** What an address that is not verified, or was verified before this was stored, has of it. */
export type VerifiedBy = { readonly verifier?: Verifier }

export const byUser: Verifier = { by: "user" }
export const byOrganization: Verifier = { by: "organization" }
const byInstance: Verifier = { by: "instance" }

/** Who verifies an address when the caller says that it is verified. */
export const verifierFrom = ({
  caller,
  holdsOnInstance,
}: Pick<Decision, "caller" | "holdsOnInstance">): Verifier =>
  caller.kind === "system" || (caller.kind === "user" && holdsOnInstance?.("user.write"))
    ? byInstance
    : byOrganization

/** Whether it is worth storing that an address was verified once more, by somebody else. */
export const outweighs = (verifier: Verifier, before: Verifier = byOrganization): boolean =>
  weights[verifier.by] > weights[before.by]

/** The one of two verifiers whose word has less weight. */
export const weaker = (one: Verifier, other: Verifier): Verifier =>
  outweighs(one, other) ? other : one

/** Whether the user proves what only their organization or a provider has verified so far. */
export const isProofMissing = (verifier: Verifier, before: Verifier | undefined): boolean =>
  verifier.by === "user" && before?.by !== "user" && before?.by !== "instance"

const weights: Readonly<Record<Verifier["by"], number>> = {
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
 * Who verified an address by an event. Events of earlier versions don't say it: those that erase a
 * code used one, which proves something only where it was sent (`isReturned`: the last one was
 * returned to the caller). What else is not known was verified by the organization.
 */
export function verifierOf({ data, editor, erase }: VerifyingEvent, isReturned: boolean): Verifier {
  if (data.verifier) return data.verifier
  if (erase) return isReturned ? byOrganization : byUser
  return unknownVerifier(editor)
}

/**
 * Who verified the email address that a user was created with. Earlier versions did not store it:
 * nobody is signed in who registers by the code that was sent to them, or comes from a provider,
 * which the link that follows tells.
 */
export function firstVerifier(verifier: Verifier | undefined, editor: Editor): Verifier {
  if (verifier) return verifier
  return isNobody(editor) ? byUser : unknownVerifier(editor)
}

/** Whose word an address is that was verified before that was stored. */
export const unknownVerifier = (editor: Editor): Verifier =>
  isSystem(editor) ? byInstance : byOrganization

export const isNobody = ({ user, client }: Editor): boolean => user === "" && client === ""

/** The process acts without a client. */
const isSystem = ({ user, client }: Editor): boolean => user !== "" && client === ""
