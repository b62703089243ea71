import type { Found, Page } from "../../kernel/page.ts"
import {
  type Consequences,
  type Cx,
  type Draft,
  type Erasure,
  statement,
  type ViewWriter,
  view,
  windowOf,
} from "../../store/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import { accountIn, type PasswordCheckEvent, passwordCheck, passwordListedMs } from "./attempt.ts"
import {
  type CountedKind,
  type FactorCheckEvent,
  factorCount,
  factorListedMs,
} from "./check-count.ts"
import { codeCountId, codeCounts } from "./code-count.ts"

/** What was wrong in a sign-in that failed. */
export type FailedCheck = "password" | CountedKind

/** A check that failed; `time` is ms UTC. */
export type FailedSignIn = {
  readonly line: string
  readonly version: number
  readonly time: number
  /**
   * Whether it came from a device that the person has signed in from; null for second factors and
   * passwords of directories, where nobody knows.
   */
  readonly known: number | null
  readonly failed: FailedCheck
  /** Empty where nothing is known. */
  readonly address: string
  readonly user_agent: string
}

/** Of each place that tries come from, the latest; whoever guesses on makes no more rows. */
const kept = 50

/** `has_sender` stays once it is set: the event may have a row no more, and still a sender. */
const insert = statement(
  `INSERT INTO failed_sign_ins
     (instance, stream, line, version, user_id, known, failed, has_sender, address, user_agent,
      time)
   VALUES
     ($instance, $stream, $id, $version, $userId, $known, $failed,
      $hasSender OR EXISTS (
        SELECT 1 FROM failed_sign_ins
        WHERE instance = $instance AND stream = $stream AND line = $id AND has_sender = 1
      ),
      $address, $userAgent, $time)`,
)
const forgetOld = statement(
  `DELETE FROM failed_sign_ins
   WHERE instance = $instance AND stream = $stream AND line = $id
     AND version <= $version - ${kept}`,
)
const eraseSenders = statement(
  `UPDATE failed_sign_ins SET has_sender = 0, address = '', user_agent = ''
   WHERE instance = $instance AND stream = $stream AND line = $id`,
)
const removeLine = statement(
  "DELETE FROM failed_sign_ins WHERE instance = $instance AND stream = $stream AND line = $id",
)
const removeUser = statement(
  "DELETE FROM failed_sign_ins WHERE instance = $instance AND user_id = $id",
)

type Failed = Extract<PasswordCheckEvent | FactorCheckEvent, { readonly type: `${string}.failed` }>

type Erasing = { readonly erase?: Erasure | null | undefined }
type FailedRow = Failed & Erasing & { readonly id: string }

const passwordFailed = (db: ViewWriter, { id, private: sender, erase }: FailedRow) => {
  const { userId, isKnown } = accountIn(id)
  if (userId === undefined) return
  add(db, passwordCheck.stream, { userId, known: isKnown, failed: "password", sender, erase })
}

const factorFailed =
  (failed: CountedKind) =>
  (db: ViewWriter, { id, private: sender, erase }: FailedRow) =>
    add(db, factorCount.stream, { userId: id, known: null, failed, sender, erase })

const factorSucceeded = (db: ViewWriter, { erase }: Erasing & { readonly id: string }) => {
  if (erase) db.run(eraseSenders, { stream: factorCount.stream })
}

type NewRow = Erasing & {
  readonly userId: string
  readonly known: boolean | null
  readonly failed: FailedCheck
  readonly sender: Failed["private"]
}

function add(db: ViewWriter, stream: string, { sender, erase, ...row }: NewRow): void {
  const { address = "", userAgent = "" } = sender ?? {}
  if (erase) db.run(eraseSenders, { stream })
  db.run(insert, { ...row, stream, hasSender: sender !== null, address, userAgent })
  db.run(forgetOld, { stream })
}

/** Who failed to sign in to which account; names that are nobody's are not in it. */
export const failedSignInView = view<PasswordCheckEvent | FactorCheckEvent | UserEvent>({
  name: "failed_sign_in",
  tables: {
    failed_sign_ins: {
      columns: `stream TEXT NOT NULL, line TEXT NOT NULL, version INTEGER NOT NULL,
        user_id TEXT NOT NULL, known INTEGER, failed TEXT NOT NULL,
        has_sender INTEGER NOT NULL, address TEXT NOT NULL, user_agent TEXT NOT NULL,
        time INTEGER NOT NULL`,
      key: "stream, line, version",
      indexes: { user: "user_id" },
    },
  },
  on: {
    "user.human.password.check.failed": passwordFailed,
    "user.human.mfa.otp.check.failed": factorFailed("totp"),
    "user.human.mfa.otp.email.check.failed": factorFailed("otp_email"),
    "user.human.mfa.otp.sms.check.failed": factorFailed("otp_sms"),
    "user.human.mfa.recoverycode.check.failed": factorFailed("recovery_code"),
    "user.human.mfa.u2f.token.check.failed": factorFailed("u2f"),
    "user.human.passwordless.token.check.failed": factorFailed("passkey"),
    "user.human.mfa.otp.check.succeeded": factorSucceeded,
    "user.human.mfa.otp.email.check.succeeded": factorSucceeded,
    "user.human.mfa.otp.sms.check.succeeded": factorSucceeded,
    "user.human.mfa.recoverycode.check.succeeded": factorSucceeded,
    "user.human.mfa.u2f.token.check.succeeded": factorSucceeded,
    "user.human.passwordless.token.check.succeeded": factorSucceeded,
    "user.removed": (db) => db.run(removeUser),
  },
  dropped: {
    password_check: (db) => db.run(removeLine, { stream: passwordCheck.stream }),
    factor_check: (db) => db.run(removeLine, { stream: factorCount.stream }),
  },
})

const ofUser = statement<FailedSignIn>(
  `SELECT line, version, time, known, failed, address, user_agent FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId
     AND time > CASE failed WHEN 'password' THEN $passwordsSince ELSE $factorsSince END
   ORDER BY time DESC LIMIT 1000`,
)

/** The failed sign-ins of a person; streams that are still written to have also older ones. */
export function failedSignIns(cx: Cx, userId: string, page: Page): Found<FailedSignIn> {
  const now = cx.clock.now()
  const since = { passwordsSince: now - passwordListedMs, factorsSince: now - factorListedMs }
  return windowOf(cx, cx.store.all(cx, ofUser, { userId, ...since }), {
    page,
    requested: ["failed_sign_ins", userId],
    by: ({ time, failed, line, version }) => [time, failed, line, version],
  })
}

const linesOf = statement<{ line: string; stream: string }>(
  `SELECT DISTINCT stream, line FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId`,
)

/** The IDs of the streams in which tries with an account are counted, apart from its own. */
export function accountStreams(cx: Cx, userId: string): readonly string[] {
  const lines = cx.store.all(cx, linesOf, { userId }).map(({ line }) => line)
  const links = lines.map((line) => codeCountId(line, "magic_link"))
  return [...new Set([...lines, ...links, ...codeCounts(userId)])]
}

/** Events of the first revision have no sender, and nothing to erase. */
const linesWithSender = statement<{ line: string; stream: string }>(
  `SELECT DISTINCT stream, line FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId AND has_sender = 1`,
)

/**
 * Erases where failed sign-ins of a removed user came from, in the step that removes the user. No
 * event has a sender while nodes of an earlier version are there, so users can be removed then.
 */
export const failureErasure: Consequences = {
  name: "failed-sign-ins",
  on: {
    "user.removed":
      ({ id: userId }) =>
      ({ cx, tx }) => {
        // What this node has not read of these yet has the step decided anew, with what is there.
        tx.state(passwordCheck, userId)
        tx.state(factorCount, userId)
        for (const { stream, line } of cx.store.all(cx, linesWithSender, { userId })) {
          const isPassword = stream === passwordCheck.stream
          if (isPassword) tx.append(passwordCheck, line, [passwordsErased])
          else tx.append(factorCount, line, [factorsErased])
        }
      },
  },
}

const passwordsErased: Draft<PasswordCheckEvent> = {
  ...{ type: "user.human.password.check.erased", data: {}, erase: {} },
}
const factorsErased: Draft<FactorCheckEvent> = {
  ...{ type: "user.human.factor.check.erased", data: {}, erase: {} },
}
