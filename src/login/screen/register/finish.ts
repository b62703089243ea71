import type { Linked } from "../../../../ui/login/index.ts"
import {
  addRoleGrants,
  newUserForScript,
  runAfterCreation,
  runBeforeCreation,
} from "../../../domain/action/index.ts"
import { addFounder } from "../../../domain/member/index.ts"
import { passwordComplexity, policyOf } from "../../../domain/policy/index.ts"
import {
  checkRegistration,
  completeRegistration,
  findNewHuman,
  findRegistrant,
} from "../../../domain/registration/index.ts"
import { needsApproval, redeemSignUpLink, submitSignUp } from "../../../domain/sign-up/index.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Transaction } from "../../../store/index.ts"
import { completeSignIn } from "../../complete-sign-in.ts"
import { hrefOf, type LoginContext, type Screen } from "../../context.ts"
import { type Fields, redirectTo } from "../../form.ts"
import { pageStateFor } from "../../page-state.ts"
import { passkeyProblem, proofOfCredential } from "../../part/first-credential.ts"
import {
  type ChoiceProblem,
  limitGuesses,
  linkPasswordPage,
  parseLinked,
  rejectLink,
  showLink,
} from "../../part/link.ts"
import { loginPaths } from "../../path.ts"
import { canStillRegister } from "../../policy/registration.ts"
import { showProblem } from "../../problem.ts"
import { findPendingRequest } from "../../request.ts"
import { scriptContextOf } from "../../sign-in/script.ts"
import { allowsCredential, offerFirstPasskey, parseCredential } from "./credential.ts"
import { findSignUp, rejectEndedLink } from "./sign-up-link.ts"

const kind = "register"

/** State of the page after a valid code: the credential was rejected. */
type CredentialState = { readonly linked: Linked; readonly problem?: ChoiceProblem }

const credentialState = pageStateFor<CredentialState>(loginPaths.registerPassword)

/** POST: the emailed code, which verifies the address. */
async function postRegisterCode(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = parseLinked(fields)
  const { userId, code } = linked
  // Read first, because the other request of a double click may submit the registration during this
  // check.
  const { signUpLinkId } = findRegistrant(cx, userId) ?? {}
  const signUp = findSignUp(cx, signUpLinkId)
  const isApproved = needsApproval(cx, userId)
  const result = await limitGuesses(cx, code, () => checkRegistration(cx, userId, code))
  if (result !== "ok") return rejectLink(loginContext, { kind, linked }, result)
  if (signUp === "over") return rejectEndedLink(loginContext, signUpLinkId ?? "")
  if (isApproved) return submitForApproval(loginContext, linked)
  return credentialState.next(loginContext, { linked })
}

/** If an administrator must approve the registration, no password is requested before that. */
async function submitForApproval(loginContext: LoginContext, linked: Linked): Promise<Response> {
  const { cx } = loginContext
  const { userId, code } = linked
  const { signUpLinkId = "" } = findRegistrant(cx, userId) ?? {}
  try {
    const isOpen = (orgId: string) => canStillRegister(cx, { orgId, isFounder: false })
    await submitSignUp(cx, userId, { code, isOpen })
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    if (cause.id === "sign_up_link.over") return rejectEndedLink(loginContext, signUpLinkId)
    if (cause.id === "sign_up_request.too_many") {
      const reason = "register.closed" as const
      return showProblem(loginContext, { problem: "not_allowed", status: 403, reason })
    }
    if (!expectedFaultIds.includes(cause.id)) throw cause
    // The code was just valid: the first request of a double click has already used it.
    const isSubmitted = cause.id === "registration.over" && !findRegistrant(cx, userId)
    if (!isSubmitted) return rejectLink(loginContext, { kind, linked }, "wrong")
  }
  return redirectTo(hrefOf(loginContext, loginPaths.registerWaiting))
}

/** GET: asks for a password or a passkey. */
async function showRegisterPassword(loginContext: LoginContext): Promise<Response> {
  const { cx } = loginContext
  const { linked, problem } = credentialState.of(loginContext) ?? {}
  const registrant = linked && findRegistrant(cx, linked.userId)
  if (!linked || !registrant) return showProblem(loginContext, { problem: "expired" })
  const { orgId, givenName, familyName, email, organization } = registrant
  const pageOptions = {
    ...({ page: organization === "" ? kind : "register_org" } as const),
    linked,
    orgId,
    action: loginPaths.registerPassword,
    account: { displayName: `${givenName} ${familyName}`, loginName: email },
    rules: policyOf(cx, orgId, passwordComplexity),
    passkey: await offerFirstPasskey(loginContext, { userId: linked.userId, orgId }),
    words: (t: Parameters<Parameters<typeof linkPasswordPage>[1]["words"]>[0]) => ({
      title: t("invite.password.title"),
      lead: t("register.password.lead"),
      submit: t("register.submit"),
    }),
  }
  return linkPasswordPage(loginContext, pageOptions, problem)
}

/**
 * POST: the chosen credential. Creates the account with it and signs in the user, in one
 * transaction.
 */
async function postRegisterPassword(loginContext: LoginContext, fields: Fields): Promise<Response> {
  const { cx } = loginContext
  const linked = parseLinked(fields)
  const { userId, code } = linked
  const result = await limitGuesses(cx, code, () => checkRegistration(cx, userId, code))
  if (result !== "ok") return rejectLink(loginContext, { kind, linked }, result)
  if (needsApproval(cx, userId)) return submitForApproval(loginContext, linked)
  const chosen = await parseCredential(loginContext, { userId, fields })
  if ("problem" in chosen) return credentialState.next(loginContext, { linked, ...chosen })
  const context = continuedContext(loginContext, linked)
  const { signUpLinkId = "" } = findRegistrant(cx, userId) ?? {}
  const scripted = await runScripts(context, userId)
  try {
    return await completeSignIn<never>(context, {
      userId,
      first: (tx) => {
        if (needsApproval(cx, userId)) throw registrationClosedError()
        const made = complete(tx, userId, { code, chosen, person: scripted?.person })
        if (made.signUpLinkId !== undefined) {
          redeemSignUpLink(tx, made.signUpLinkId, { userId, email: made.email })
        } else if (!canStillRegister(cx, made)) throw registrationClosedError()
        if (!allowsCredential(cx, made.orgId, chosen)) throw registrationClosedError()
        if (scripted) addRoleGrants(tx, { userId, orgId: made.orgId }, scripted.granted)
      },
      proof: () => proofOfCredential(chosen),
      method: undefined,
    })
  } catch (cause) {
    if (cause instanceof Fault && cause.id === "user.key_taken") {
      return credentialState.next(loginContext, { linked, problem: passkeyProblem })
    }
    if (cause instanceof Fault && cause.id === "sign_up_link.over") {
      return rejectEndedLink(loginContext, signUpLinkId)
    }
    // The account exists by now, the code was used in another window, or registration was closed.
    if (!(cause instanceof Fault) || !expectedFaultIds.includes(cause.id)) throw cause
    return rejectLink(loginContext, { kind, linked }, "wrong")
  }
}

const expectedFaultIds: readonly string[] = [
  "registration.over",
  "registration.closed",
  "user.name_taken",
  "user.name_of_other_org",
]

/**
 * Runs the scripts of the organization, which can change the new user's data and authorizations.
 */
async function runScripts(context: LoginContext, userId: string) {
  const { cx } = context
  const pageOptions = findNewHuman(cx, userId)
  if (!pageOptions) return undefined
  const scriptInput = {
    flowType: 3,
    orgId: pageOptions.orgId,
    scene: scriptContextOf(context),
  } as const
  const person = await runBeforeCreation(cx, userId, { ...scriptInput, person: pageOptions })
  return {
    person,
    granted: await runAfterCreation(cx, newUserForScript(userId, person), scriptInput),
  }
}

function complete(
  tx: Transaction,
  userId: string,
  scriptResult: Parameters<typeof completeRegistration>[2],
) {
  const made = completeRegistration(tx, userId, scriptResult)
  if (made.isFounder) addFounder(tx, made.orgId, userId)
  return made
}

const registrationClosedError = () =>
  new Fault("failed_precondition", "registration.closed", "registration is no longer allowed")

/** Continues the sign-in that the registration began in, even if the email was opened elsewhere. */
function continuedContext(loginContext: LoginContext, { request }: Linked): LoginContext {
  const { cx, browserContext } = loginContext
  const waiting = loginContext.waiting ?? findPendingRequest(cx, browserContext, request)
  return { ...loginContext, waiting }
}

export const registerVerifyScreen: Screen = {
  path: loginPaths.registerVerify,
  get: (loginContext) => showLink(loginContext, kind),
  post: postRegisterCode,
}

export const registerPasswordScreen: Screen = {
  path: loginPaths.registerPassword,
  get: showRegisterPassword,
  post: postRegisterPassword,
}
