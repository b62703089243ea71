import { Fault } from "../../../kernel/fault.ts"
import type { Hindrance } from "../entry.ts"

/** Why a session was not changed. */
export type Refusal = Hindrance | "proof wrong" | "user missing"

/** What a login page is told; what is wrong with an account, only where the password was right. */
export const checkError = (refusal: Refusal): Fault => new Fault(...refusals[refusal])

const refusals: Readonly<Record<Refusal, ConstructorParameters<typeof Fault>>> = {
  wrong: ["invalid_argument", "session.password_wrong", "the login name or the password is wrong"],
  "proof wrong": [
    "invalid_argument",
    "session.proof_wrong",
    "the code or the key is wrong, too old, or was used before",
  ],
  locked: [
    "failed_precondition",
    "session.user_locked",
    "the password is right, but this user is locked; somebody who may has to unlock them",
  ],
  inactive: [
    "failed_precondition",
    "session.user_inactive",
    "the password is right, but this user or their organisation is deactivated",
  ],
  "change required": [
    "failed_precondition",
    "session.password_change_required",
    "the password is right, but it has to be changed first: set a new one by the current one, " +
      "then check that",
  ],
  "passkey required": [
    "failed_precondition",
    "session.passkey_required",
    "the password is right, but the login policy allows no passwords and this user has a " +
      "passkey: check webauthn",
  ],
  "user missing": [
    "failed_precondition",
    "session.user_missing",
    "nobody has said yet whose session this is; check a user first",
  ],
}
