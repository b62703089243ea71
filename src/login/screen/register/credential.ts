import type { FirstPasskey } from "../../../../ui/login/index.ts"
import { areKeysSupported } from "../../../domain/factor/index.ts"
import { login, policyOf } from "../../../domain/policy/index.ts"
import {
  beginRegistrationKey,
  type FirstCredential,
  preparePassword,
} from "../../../domain/registration/index.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext } from "../../context.ts"
import type { Fields } from "../../form.ts"
import { firstPasskey, parseFirstCredential } from "../../part/first-credential.ts"

type NewAccountReference = { readonly userId: string; readonly orgId: string }

/** The passkey options for a new account; undefined if passkeys are not allowed. */
export async function offerFirstPasskey(
  loginContext: LoginContext,
  { userId, orgId }: NewAccountReference,
): Promise<Omit<FirstPasskey, "error"> | undefined> {
  const { cx } = loginContext
  if (!allowsPasskey(cx, orgId)) return undefined
  return firstPasskey(loginContext, userId, await beginRegistrationKey(cx, userId))
}

const allowsPasskey = (cx: Cx, orgId: string): boolean =>
  areKeysSupported(cx) && policyOf(cx, orgId, login).allowPasswordless

/** Whether the organization still allows new accounts with this credential. */
export const allowsCredential = (cx: Cx, orgId: string, chosen: FirstCredential): boolean =>
  !("passkey" in chosen) || allowsPasskey(cx, orgId)

type CredentialForm = { readonly userId: string; readonly fields: Fields }

/** Parses the chosen credential, a passkey or a password; returns the problem if it is invalid. */
export const parseCredential = (loginContext: LoginContext, { userId, fields }: CredentialForm) =>
  parseFirstCredential(loginContext, {
    userId,
    fields,
    password: (plain) => preparePassword(loginContext.cx, userId, plain),
  })
