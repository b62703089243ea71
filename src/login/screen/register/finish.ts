import type { Linked } from "../../../../ui/login/index.ts"
import {
  afterCreation,
  beforeCreation,
  giveGranted,
  shownNew,
} from "../../../domain/action/index.ts"
import { addFounder } from "../../../domain/member/index.ts"
import { passwordComplexity, policyOf } from "../../../domain/policy/index.ts"
import {
  checkRegistration,
  completeRegistration,
  personAsked,
  registrantBy,
} from "../../../domain/registration/index.ts"
import { needsApproval, redeemSignUpLink, submitSignUp } from "../../../domain/sign-up/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { sceneOf } from "../../entered/script.ts"
import { type Fields, goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { keyProblem, proofOf } from "../../part/first-credential.ts"
import {
  askLink,
  type ChoiceProblem,
  guessing,
  linkedIn,
  linkPasswordPage,
  refuseLink,
} from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { mayStillRegister } from "../../policy/registration.ts"
import { waitingRequest } from "../../request.ts"
import { trouble } from "../../trouble.ts"
import { chosenIn, mayTake, offeredFirst } from "./choice.ts"
import { refuseEnded, signUpWith } from "./sign-up-link.ts"

const kind = "register"

/** Who has shown the code, and what was wrong with what they chose. */
type Choice = { readonly linked: Linked; readonly problem?: ChoiceProblem }

const choices = notesFor<Choice>(loginPaths.registerPassword)

/** The code of the mail was shown: the address is theirs. */
async function takeRegisterCode(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const { userId, code } = linked
  // Read first: the other one of two clicks may submit it while this one is checked.
  const { signUpLinkId } = registrantBy(cx, userId) ?? {}
  const signUp = signUpWith(cx, signUpLinkId)
  const isApproved = needsApproval(cx, userId)
  const result = await guessing(cx, code, () => checkRegistration(cx, userId, code))
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  if (signUp === "over") return refuseEnded(loginContext, signUpLinkId ?? "")
  if (isApproved) return submit(loginContext, linked)
  return choices.next(loginContext, { linked })
}

/** Somebody else decides whether there is an account: no password is chosen before that. */
async function submit(loginContext: LoginContext, linked: Linked): Promise<Response> {
  const { cx } = loginContext
  const { userId, code } = linked
  const { signUpLinkId = "" } = registrantBy(cx, userId) ?? {}
  try {
    const isOpen = (orgId: string) => mayStillRegister(cx, { orgId, isFounder: false })
    await submitSignUp(cx, userId, { code, isOpen })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.id === "sign_up_link.over") return refuseEnded(loginContext, signUpLinkId)
    if (cause.id === "sign_up_request.too_many") {
      const reason = "register.closed" as const
      return trouble(loginContext, { problem: "not_allowed", status: 403, reason })
    }
    if (!overs.includes(cause.id)) throw cause
    // The code was right a moment ago: the first of two clicks was faster, and has ended it.
    const isSubmitted = cause.id === "registration.over" && !registrantBy(cx, userId)
    if (!isSubmitted) return refuseLink(loginContext, { kind, linked }, "wrong")
  }
  return goTo(hrefOf(loginContext, loginPaths.registerWaiting))
}

/** GET: asks what they want to sign in with, a password or a passkey. */
async function askRegisterPassword(loginContext: LoginContext): Promise<Response> {
  const { cx } = loginContext
  const { linked, problem } = choices.of(loginContext) ?? {}
  const registrant = linked && registrantBy(cx, linked.userId)
  if (!linked || !registrant) return trouble(loginContext, { problem: "expired" })
  const { orgId, givenName, familyName, email, organization } = registrant
  const asked = {
    ...({ page: organization === "" ? kind : "register_org" } as const),
    linked,
    orgId,
    action: loginPaths.registerPassword,
    account: { displayName: `${givenName} ${familyName}`, loginName: email },
    rules: policyOf(cx, orgId, passwordComplexity),
    passkey: await offeredFirst(loginContext, { userId: linked.userId, orgId }),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("invite.password.title"),
      lead: t("register.password.lead"),
      submit: t("register.submit"),
    }),
  }
  return linkPasswordPage(loginContext, asked, problem)
}

/** What they chose: the account is made with it, and its person signed in, in one step. */
async function takeRegisterPassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = linkedIn(fields)
  const { userId, code } = linked
  const result = await guessing(cx, code, () => checkRegistration(cx, userId, code))
  if (result !== "ok") return refuseLink(loginContext, { kind, linked }, result)
  if (needsApproval(cx, userId)) return submit(loginContext, linked)
  const chosen = await chosenIn(loginContext, { userId, fields })
  if ("problem" in chosen) return choices.next(loginContext, { linked, ...chosen })
  const context = continued(loginContext, linked)
  const { signUpLinkId = "" } = registrantBy(cx, userId) ?? {}
  const scripted = await askScripts(context, userId)
  try {
    return await completeSignIn<never>(context, {
      userId,
      first: (tx) => {
        if (needsApproval(cx, userId)) throw closedError()
        const made = complete(tx, userId, { code, chosen, person: scripted?.person })
        if (made.signUpLinkId !== undefined) {
          redeemSignUpLink(tx, made.signUpLinkId, { userId, email: made.email })
        } else if (!mayStillRegister(cx, made)) throw closedError()
        if (!mayTake(cx, made.orgId, chosen)) throw closedError()
        if (scripted) giveGranted(tx, { userId, orgId: made.orgId }, scripted.granted)
      },
      proof: () => proofOf(chosen),
      method: undefined,
    })
  } catch (cause) {
    if (cause instanceof Fault && cause.id === "user.key_taken") {
      return choices.next(loginContext, { linked, problem: keyProblem })
    }
    if (cause instanceof Fault && cause.id === "sign_up_link.over") {
      return refuseEnded(loginContext, signUpLinkId)
    }
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

export const registerVerifyScreen: Screen = {
  path: loginPaths.registerVerify,
  get: (loginContext) => askLink(loginContext, kind),
  post: takeRegisterCode,
}

export const registerPasswordScreen: Screen = {
  path: loginPaths.registerPassword,
  get: askRegisterPassword,
  post: takeRegisterPassword,
}
