import type { FirstPasskey } from "../../../../ui/login/index.ts"
import { hasKeys } from "../../../domain/factor/index.ts"
import { login, policyOf } from "../../../domain/policy/index.ts"
import {
  type FirstCredential,
  registrationKey,
  registrationPassword,
} from "../../../domain/registration/index.ts"
import type { Cx } from "../../../store/index.ts"
import type { LoginContext } from "../../context.ts"
import type { Fields } from "../../form.ts"
import { firstCredentialIn, firstPasskey } from "../../part/first-credential.ts"

type Offering = { readonly userId: string; readonly orgId: string }

/** The passkey that the account may be made with; undefined where that can't be. */
export async function offeredFirst(
  loginContext: LoginContext,
  { userId, orgId }: Offering,
): Promise<Omit<FirstPasskey, "error"> | undefined> {
  const { cx } = loginContext
  if (!mayTakePasskey(cx, orgId)) return undefined
  return firstPasskey(loginContext, userId, await registrationKey(cx, userId))
}

const mayTakePasskey = (cx: Cx, orgId: string): boolean =>
  hasKeys(cx) && policyOf(cx, orgId, login).allowPasswordless

/** Whether an account of the organisation may be made with that by now. */
export const mayTake = (cx: Cx, orgId: string, chosen: FirstCredential): boolean =>
  !("passkey" in chosen) || mayTakePasskey(cx, orgId)

type Posted = { readonly userId: string; readonly fields: Fields }

/** Reads what was chosen, a passkey where one was made; or what is wrong with it. */
export const chosenIn = (loginContext: LoginContext, { userId, fields }: Posted) =>
  firstCredentialIn(loginContext, {
    userId,
    fields,
    password: (plain) => registrationPassword(loginContext.cx, userId, plain),
  })
