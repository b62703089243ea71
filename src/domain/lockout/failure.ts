import type { Found, Page } from "../../kernel/page.ts"
import {
  bool,
  type Consequences,
  type Cx,
  type Draft,
  type Envelope,
  type Erasure,
  integer,
  nullable,
  type RowOf,
  statement,
  table,
  text,
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
import { limits } from "./limits.ts"

/** What was wrong in a sign-in that failed. */
export type FailedCheck = "password" | CountedKind

/** Of each place that tries come from, the latest; whoever guesses on makes no more rows. */
const keptOf = ({ failed }: { readonly failed: FailedCheck }): number =>
  (failed === "password" ? limits.listedPasswords : limits.listedFactors).max

const failedTable = table(
  "failed_sign_ins",
  {
    stream: text(),
    line: text(),
    version: integer(),
    user_id: text(),
    /**
     * Whether it came from a device that the person has signed in from; null for second factors and
     * passwords of directories, where nobody knows.
     */
    known: nullable(bool()),
    failed: text<FailedCheck>(),
    /** Stays once it is set: the event may have a row no more, and still a sender. */
    has_sender: bool(),
    /** Empty where nothing is known. */
    address: text(),
    user_agent: text(),
    /** ms UTC. */
    time: integer(),
  },
  { key: ["stream", "line", "version"], indexes: { user: ["user_id"] } },
)

const withSender = failedTable.select(
  ["version"],
  "AND stream = $stream AND line = $id AND has_sender = 1 LIMIT 1",
)
const forgetOld = statement(
  `DELETE FROM failed_sign_ins
   WHERE instance = $instance AND stream = $stream AND line = $id
     AND version <= $version - $kept`,
)

const eraseSenders = (db: ViewWriter, stream: string, line: string) =>
  failedTable.update(db, { stream, line }, { has_sender: false, address: "", user_agent: "" })

type Failed = Extract<PasswordCheckEvent | FactorCheckEvent, { readonly type: `${string}.failed` }>

type Erasing = { readonly erase?: Erasure | null | undefined }
type FailedEvent = Failed & Erasing & Envelope

const passwordFailed = (db: ViewWriter, event: FailedEvent) => {
  const { userId, isKnown } = accountIn(event.id)
  if (userId === undefined) return
  add(db, event, {
    stream: passwordCheck.stream,
    user_id: userId,
    known: isKnown,
    failed: "password",
  })
}

const factorFailed = (failed: CountedKind) => (db: ViewWriter, event: FailedEvent) =>
  add(db, event, { stream: factorCount.stream, user_id: event.id, known: null, failed })

const factorSucceeded = (db: ViewWriter, { id, erase }: Erasing & { readonly id: string }) => {
  if (erase) eraseSenders(db, factorCount.stream, id)
}

type NewRow = Pick<RowOf<typeof failedTable>, "stream" | "user_id" | "known" | "failed">

function add(db: ViewWriter, event: FailedEvent, row: NewRow): void {
  const { id: line, version, time, private: sender, erase } = event
  const { stream } = row
  if (erase) eraseSenders(db, stream, line)
  failedTable.insert(db, {
    ...row,
    line,
    version,
    has_sender: sender !== null || db.get(withSender, { stream }) !== undefined,
    address: sender?.address ?? "",
    user_agent: sender?.userAgent ?? "",
    time,
  })
  db.run(forgetOld, { stream, kept: keptOf(row) })
}

/** Who failed to sign in to which account; names that are nobody's are not in it. */
export const failedSignInView = view<PasswordCheckEvent | FactorCheckEvent | UserEvent>({
  name: "failed_sign_in",
  tables: [failedTable],
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
    "user.removed": (db, { id }) => failedTable.remove(db, { user_id: id }),
  },
  dropped: {
    password_check: (db, { id: line }) =>
      failedTable.remove(db, { stream: passwordCheck.stream, line }),
    factor_check: (db, { id: line }) =>
      failedTable.remove(db, { stream: factorCount.stream, line }),
  },
})

const ofUser = failedTable.select(
  ["line", "version", "time", "known", "failed", "address", "user_agent"],
  `AND user_id = $userId
     AND time > CASE failed WHEN 'password' THEN $passwordsSince ELSE $factorsSince END
   ORDER BY time DESC LIMIT 1000`,
)

/** A check that failed. */
export type FailedSignIn = NonNullable<typeof ofUser.row>

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
  type: "user.human.password.check.erased",
  data: {},
  erase: {},
}
const factorsErased: Draft<FactorCheckEvent> = {
  type: "user.human.factor.check.erased",
  data: {},
  erase: {},
}
