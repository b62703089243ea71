import type { Account, Target } from "../../ui/login/index.ts"
import { linkSession } from "../domain/grant/index.ts"
import {
  accountOf,
  afterwards,
  applicationOf,
  hrefOf,
  optionsOf,
  type Scene,
  targetOf,
  trouble,
} from "./context.ts"
import { nextStep, type Step } from "./flow.ts"
import { type Fields, goTo } from "./form.ts"
import { passwordChangePage } from "./password-change.ts"
import { loginPaths } from "./path.ts"
import { type SignedIn, signInWith } from "./sign-in.ts"

/** GET of the first page; a login_hint fills it in. */
export const askLoginName = (scene: Scene): Promise<Response> =>
  loginNamePage(scene, { loginName: scene.waiting?.loginHint ?? "" })

/** The login name was given; whether it is anybody's is not said here or later. */
export function takeLoginName(scene: Scene, fields: Fields): Promise<Response> {
  const loginName = fields.get("loginName").trim()
  if (loginName === "" || loginName.length > loginNameMax) {
    return loginNamePage(scene, { loginName, missing: true })
  }
  return passwordPage(scene, { displayName: loginName, loginName })
}

const loginNameMax = 200

/** GET of the password page: only for a person that the flow knows already. */
export function askPassword(scene: Scene): Promise<Response> | Response {
  const step = stepOf(scene)
  if (step.kind !== "password") return goTo(hrefOf(scene, loginPaths.loginName))
  return passwordPage(scene, accountOf(scene.cx, step.userId))
}

/** The password was given. */
export async function takePassword(scene: Scene, fields: Fields): Promise<Response> {
  const loginName = fields.get("loginName").trim()
  const password = fields.get("password")
  if (loginName === "" || loginName.length > loginNameMax) {
    return goTo(hrefOf(scene, loginPaths.loginName))
  }
  const account = shownAccount(scene, loginName)
  if (password === "") return passwordPage(scene, account, { key: "password.error.missing" })
  const result = await signInWith(scene, loginName, password)
  if (result.kind === "in") return result.answer
  return refused(scene, account, result)
}

/** GET of the choice among the accounts of this browser. */
export function askAccount(scene: Scene): Promise<Response> | Response {
  const { cx, show, visit, waiting } = scene
  if (visit.present.length === 0) return goTo(hrefOf(scene, loginPaths.loginName))
  const hinted = waiting?.wanted.hintedUser ?? waiting?.wanted.suggestedUser
  // Whom the application means comes first; the choice is the person's.
  const first = visit.present.filter(({ userId }) => userId === hinted)
  const rest = visit.present.filter(({ userId }) => userId !== hinted)
  const accounts = [...first, ...rest].map(({ id, userId }) => ({
    ...accountOf(cx, userId),
    session: id,
    signedIn: true,
  }))
  const form = targetOf(scene, loginPaths.accounts)
  const otherHref = hrefOf(scene, loginPaths.loginName)
  const application = applicationOf(scene)
  return show(
    cx,
    (ui, shared) => ui.AccountPage({ ...shared, form, accounts, otherHref, application }),
    optionsOf(scene),
  )
}

/** An account was chosen; it must be one that this browser has. */
export async function takeAccount(scene: Scene, fields: Fields): Promise<Response> {
  const { cx, visit, waiting } = scene
  const chosen = visit.present.find(({ id }) => id === fields.get("session"))
  if (!chosen) return goTo(hrefOf(scene, loginPaths.accounts))
  if (waiting) await cx.store.transact(cx, (tx) => linkSession(tx, waiting.id, chosen.id))
  return goTo(afterwards(scene))
}

/** Signed in, with nowhere to go; the newest account is shown. */
export function showSignedIn(scene: Scene, hrefs: SignedInHrefs): Promise<Response> | Response {
  const { cx, show, visit } = scene
  const newest = visit.present.at(-1)
  if (!newest) return goTo(loginPaths.loginName)
  const account = accountOf(cx, newest.userId)
  const { logout, console } = hrefs
  return show(
    cx,
    (ui, shared) =>
      ui.SignedInPage({ ...shared, account, logoutHref: logout, consoleHref: console }),
    optionsOf(scene),
  )
}

export type SignedInHrefs = { readonly logout: string; readonly console?: string | undefined }

export const showSignedOut = (scene: Scene): Promise<Response> =>
  scene.show(
    scene.cx,
    (ui, shared) => ui.SignedOutPage({ ...shared, signInHref: loginPaths.entry }),
    optionsOf(scene),
  )

const stepOf = ({ cx, visit, waiting }: Scene): Step =>
  waiting ? nextStep(waiting.wanted, visit.present, cx.clock.now()) : { kind: "login name" }

/** Only the name that was typed: more would tell who exists. Known people are shown in full. */
function shownAccount(scene: Scene, loginName: string): Account {
  const step = stepOf(scene)
  const known = step.kind === "password" ? accountOf(scene.cx, step.userId) : undefined
  return known?.loginName === loginName ? known : { displayName: loginName, loginName }
}

function loginNamePage(
  scene: Scene,
  { loginName, missing = false }: { loginName: string; missing?: boolean },
): Promise<Response> {
  const form = targetOf(scene, loginPaths.loginName)
  const application = applicationOf(scene)
  return scene.show(
    scene.cx,
    (ui, shared, fill) => {
      const error = missing ? shared.t("login_name.error.missing") : undefined
      return fill({
        page: ui.LoginNamePage,
        words: { ...wordsOf(form), loginName },
        props: ({ loginName, ...words }) => ({
          ...{ ...shared, application, error, loginName },
          form: { action: form.action, ...words },
        }),
      })
    },
    optionsOf(scene, missing ? 422 : 200),
  )
}

/** What a form carries unseen is another each time. */
const wordsOf = ({ csrf, authRequest = "" }: Target) => ({ csrf, authRequest })

type PasswordProblem =
  | { readonly key: "password.error.missing" | "password.error.wrong" | "password.error.busy" }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

function passwordPage(
  scene: Scene,
  account: Account,
  problem?: PasswordProblem,
): Promise<Response> {
  const form = targetOf(scene, loginPaths.password)
  const changeHref = hrefOf(scene, loginPaths.loginName)
  const application = applicationOf(scene)
  const seconds = problem && "retryAfterSeconds" in problem ? problem.retryAfterSeconds : 0
  return scene.show(
    scene.cx,
    (ui, shared, fill) => {
      const error = problem && shared.t(problem.key, { minutes: Math.ceil(seconds / 60) })
      const initials = ui.initialsOf(account.displayName)
      return fill({
        page: ui.PasswordPage,
        words: { ...wordsOf(form), changeHref, ...account, initials },
        props: ({ csrf, authRequest, changeHref, ...account }) => ({
          ...{ ...shared, application, error, changeHref, account },
          form: { action: form.action, csrf, authRequest },
        }),
      })
    },
    { ...optionsOf(scene, statusOf(problem)), retryAfterSeconds: seconds },
  )
}

/** RFC 6585 §4 for who tries too often; a field that must be filled in otherwise for the rest. */
function statusOf(problem: PasswordProblem | undefined): number {
  if (problem === undefined) return 200
  return "retryAfterSeconds" in problem ? 429 : 422
}

/** What keeps a person out whose password is right is said to them, and to nobody else. */
function refused(
  scene: Scene,
  account: Account,
  result: Exclude<SignedIn, { kind: "in" }>,
): Promise<Response> {
  if (result.kind === "too many") {
    const { retryAfterSeconds } = result
    return passwordPage(scene, account, { key: "password.error.too_many_tries", retryAfterSeconds })
  }
  if (result.kind === "wrong") return passwordPage(scene, account, { key: "password.error.wrong" })
  if (result.kind === "busy") return passwordPage(scene, account, { key: "password.error.busy" })
  if (result.kind === "change required") return passwordChangePage(scene, result)
  return trouble(scene, { problem: "not_allowed", status: 403, reason: reasons[result.kind] })
}

const reasons = {
  locked: "error.not_allowed.locked",
  inactive: "error.not_allowed.inactive",
} as const
