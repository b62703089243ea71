import { Fault } from "../../../kernel/fault.ts"
import type { SignInObstacle } from "../sign-in-check.ts"

/** Why a session was not changed. */
export type CheckFailure = SignInObstacle | "proof wrong" | "user missing"

/**
 * The error for a login page. Problems of the account are revealed only after a correct password.
 */
export const checkError = (failure: CheckFailure): Fault => new Fault(...faultsByFailure[failure])

const faultsByFailure: Readonly<Record<CheckFailure, ConstructorParameters<typeof Fault>>> = {
  wrong: ["invalid_argument", "session.password_wrong", "the login name or password is wrong"],
  "proof wrong": [
    "invalid_argument",
    "session.proof_wrong",
    "the code or key is invalid, has expired, or was already used",
  ],
  locked: [
    "failed_precondition",
    "session.user_locked",
    "the password is correct, but the user is locked; an administrator must unlock the user",
  ],
  inactive: [
    "failed_precondition",
    "session.user_inactive",
    "the password is correct, but the user or their organization is deactivated",
  ],
  "change required": [
    "failed_precondition",
    "session.password_change_required",
    "the password is correct, but must be changed: set a new one with the current " +
      "password, then check the new one",
  ],
  "passkey required": [
    "failed_precondition",
    "session.passkey_required",
    "the password is correct, but the login policy does not allow passwords and the user " +
      "has a passkey: check webauthn",
  ],
  "user missing": [
    "failed_precondition",
    "session.user_missing",
    "the session has no user yet; check the user first",
  ],
}
