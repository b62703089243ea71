import type { Linked } from "../../../ui/login/index.ts"
import { afterCreation, beforeCreation, giveGranted, shownNew } from "../../domain/action/index.ts"
import { addFounder } from "../../domain/member/index.ts"
import { passwordComplexity, policyOf } from "../../domain/policy/index.ts"
import {
  checkRegistration,
  completeRegistration,
  personAsked,
  registrantBy,
  registrationPassword,
} from "../../domain/user/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Transaction } from "../../store/index.ts"
import { waitingRequest } from "../browser-context.ts"
import { completeSignIn } from "../complete-sign-in.ts"
import { type LoginContext, trouble } from "../context.ts"
import { sceneOf } from "../entered/script.ts"
import type { Fields } from "../form.ts"
import { guessing, linkedIn, linkPasswordPage, refuseLink } from "../link/link.ts"
import { notesFor } from "../note.ts"
import { type NewPasswordProblem, newPasswordIn } from "../password/change.ts"
import { loginPaths } from "../path.ts"
import { mayStillRegister } from "./home.ts"

const kind = "register"

/** Who has shown the code, and what was wrong with the password that they chose. */
type Choice = { readonly linked: Linked; readonly problem?: NewPasswordProblem }

const choices = notesFor<Choice>(loginPaths.registerPassword)

/** The code of the mail was shown: the address is theirs. */
export async function takeRegisterCode(
  loginContext: LoginContext,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const { userId, code } = linked
  const result = await guessing(cx, code, () => checkRegistration(cx, userId, code))
  return result === "ok"
    ? choices.next(loginContext, { linked })
    : refuseLink(loginContext, { kind, linked }, result)
}

/** GET: asks for the password of the account. */
export function askRegisterPassword(loginContext: LoginContext): Promise<Response> | Response {
  const { cx } = loginContext
  const { linked, problem } = choices.of(loginContext) ?? {}
  const registrant = linked && registrantBy(cx, linked.userId)
  if (!linked || !registrant) return trouble(loginContext, { problem: "expired" })
  const { orgId, givenName, familyName, email } = registrant
  const asked = {
    ...{ linked, orgId, action: loginPaths.registerPassword },
    account: { displayName: `${givenName} ${familyName}`, loginName: email },
    rules: policyOf(cx, orgId, passwordComplexity),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("invite.password.title"),
      lead: t("register.password.lead"),
      submit: t("register.submit"),
    }),
  }
  return linkPasswordPage(loginContext, asked, problem)
}

/** The password was chosen: the account is made and its person signed in, in one step. */
export async function takeRegisterPassword(
  loginContext: LoginContext,
  fields: Fields,
): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const { userId, code } = linked
  const result = await guessing(cx, code, () => checkRegistration(cx, userId, code))
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  const password = await newPasswordIn(fields, (plain) => registrationPassword(cx, userId, plain))
  if ("key" in password) return choices.next(loginContext, { linked, problem: password })
  const context = continued(loginContext, linked)
  const scripted = await askScripts(context, userId)
  try {
    return await completeSignIn<never>(context, {
      userId,
      first: (tx) => {
        const made = complete(tx, userId, { code, password, person: scripted?.person })
        if (!mayStillRegister(cx, made)) throw closedError()
        if (scripted) giveGranted(tx, { userId, orgId: made.orgId }, scripted.granted)
      },
    })
  } catch (cause) {
    // Somebody else has the account by now, the same code was faster in another window, or nobody
    // may make one any more.
    if (!(cause instanceof Fault) || !overs.includes(cause.id)) throw cause
    return refuseLink(loginContext, { kind, linked }, "wrong")
  }
}

const overs: readonly string[] = [
  "registration.over",
  "registration.closed",
  "user.name_taken",
  "user.name_of_other_org",
]

/** Has the scripts of the organisation say who is new, and what they may do from the first. */
async function askScripts(context: LoginContext, userId: string) {
  const { cx } = context
  const asked = personAsked(cx, userId)
  if (!asked) return undefined
  const arriving = { flowType: 3, orgId: asked.orgId, scene: sceneOf(context) } as const
  const person = await beforeCreation(cx, userId, { ...arriving, person: asked })
  return { person, granted: await afterCreation(cx, shownNew(userId, person), arriving) }
}

function complete(
  tx: Transaction,
  userId: string,
  shown: Parameters<typeof completeRegistration>[2],
) {
  const made = completeRegistration(tx, userId, shown)
  if (made.isFounder) addFounder(tx, made.orgId, userId)
  return made
}

const closedError = () =>
  new Fault("failed_precondition", "registration.closed", "nobody may make an account here by now")

/** Goes on with the sign-in that it was asked for in, also where the mail was opened. */
function continued(loginContext: LoginContext, { request }: Linked): LoginContext {
  const { cx, browserContext } = loginContext
  const waiting = loginContext.waiting ?? waitingRequest(cx, browserContext, request)
  return { ...loginContext, waiting }
}
