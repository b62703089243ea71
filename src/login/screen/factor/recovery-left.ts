import {
  accountOf,
  afterwards,
  hrefOf,
  type LoginContext,
  optionsOf,
  type Screen,
} from "../../context.ts"
import { goTo } from "../../form.ts"
import { notesFor } from "../../note.ts"
import { accountSecurityPath, loginPaths } from "../../path.ts"

/** Who has just used a recovery code, and how many they have left. */
type Left = { readonly userId: string; readonly left: number }

const notes = notesFor<Left>(loginPaths.recoveryLeft)

/** From so many on, a user is told after each code. */
const few = 3

/** Where somebody is stopped on their way who has few recovery codes left; undefined for others. */
export const recoveryLeftHref = (loginContext: LoginContext, used: Left): string | undefined =>
  used.left <= few ? notes.href(loginContext, used) : undefined

/** GET: says how many are left, and leads on as well as to new ones. */
function askRecoveryLeft(loginContext: LoginContext): Promise<Response> | Response {
  const note = notes.of(loginContext)
  if (!note) return goTo(afterwards(loginContext))
  const { userId, left } = note
  const page = {
    account: accountOf(loginContext.cx, userId),
    changeHref: hrefOf(loginContext, loginPaths.loginName),
    createHref: accountSecurityPath,
    onwardHref: afterwards(loginContext),
    left,
  }
  return loginContext.show(
    loginContext.cx,
    (ui, shared) => ui.RecoveryLeftPage({ ...shared, ...page }),
    optionsOf(loginContext, 200, userId),
  )
}

export const recoveryLeftScreen: Screen = { path: loginPaths.recoveryLeft, get: askRecoveryLeft }
