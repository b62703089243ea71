import type { Page, SearchResult } from "../../kernel/page.ts"
import {
  bool,
  type Consequences,
  type Cx,
  type Draft,
  type Envelope,
  type Erasure,
  integer,
  nullable,
  paginate,
  type RowOf,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import {
  type PasswordCheckEvent,
  parseThrottleKey,
  passwordCheck,
  passwordListedMs,
} from "./attempt.ts"
import {
  type CountedKind,
  type FactorCheckEvent,
  factorCount,
  factorListedMs,
} from "./check-count.ts"
import { codeCountId, codeCountIds } from "./code-count.ts"
import { limits } from "./limits.ts"

/** The check that failed in a sign-in. */
export type FailedCheck = "password" | CountedKind

/** Maximum number of rows per stream, so that continued guessing adds no rows. */
const keptRowsMax = ({ failed }: { readonly failed: FailedCheck }): number =>
  (failed === "password" ? limits.listedPasswords : limits.listedFactors).max

const failedTable = table(
  "failed_sign_ins",
  {
    stream: text(),
    line: text(),
    version: integer(),
    user_id: text(),
    /**
     * Whether the attempt came from a known device; null for second factors and directory
     * passwords, which are not counted by device.
     */
    known: nullable(bool()),
    failed: text<FailedCheck>(),
    /** Stays set after the row of the event is deleted, because the event still has a sender. */
    has_sender: bool(),
    /** Empty if unknown. */
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
const deleteOld = statement(
  `DELETE FROM failed_sign_ins
   WHERE instance = $instance AND stream = $stream AND line = $id
     AND version <= $version - $kept`,
)

const eraseSenders = (db: ViewWriter, stream: string, line: string) =>
  failedTable.update(db, { stream, line }, { has_sender: false, address: "", user_agent: "" })

type FailedCheckEvent = Extract<
  PasswordCheckEvent | FactorCheckEvent,
  { readonly type: `${string}.failed` }
>

type WithErasure = { readonly erase?: Erasure | null | undefined }
type FailedEvent = FailedCheckEvent & WithErasure & Envelope

const addPasswordFailure = (db: ViewWriter, event: FailedEvent) => {
  const { userId, isKnown } = parseThrottleKey(event.id)
  if (userId === undefined) return
  addRow(db, event, {
    stream: passwordCheck.stream,
    user_id: userId,
    known: isKnown,
    failed: "password",
  })
}

const addFactorFailure = (failed: CountedKind) => (db: ViewWriter, event: FailedEvent) =>
  addRow(db, event, { stream: factorCount.stream, user_id: event.id, known: null, failed })

const eraseAfterFactorSuccess = (
  db: ViewWriter,
  { id, erase }: WithErasure & { readonly id: string },
) => {
  if (erase) eraseSenders(db, factorCount.stream, id)
}

type NewRow = Pick<RowOf<typeof failedTable>, "stream" | "user_id" | "known" | "failed">

function addRow(db: ViewWriter, event: FailedEvent, row: NewRow): void {
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
  db.run(deleteOld, { stream, kept: keptRowsMax(row) })
}

/** Failed sign-ins by account; unknown names are not included. */
export const failedSignInView = view<PasswordCheckEvent | FactorCheckEvent | UserEvent>({
  name: "failed_sign_in",
  tables: [failedTable],
  on: {
    "user.human.password.check.failed": addPasswordFailure,
    "user.human.mfa.otp.check.failed": addFactorFailure("totp"),
    "user.human.mfa.otp.email.check.failed": addFactorFailure("otp_email"),
    "user.human.mfa.otp.sms.check.failed": addFactorFailure("otp_sms"),
    "user.human.mfa.recoverycode.check.failed": addFactorFailure("recovery_code"),
    "user.human.mfa.u2f.token.check.failed": addFactorFailure("u2f"),
    "user.human.passwordless.token.check.failed": addFactorFailure("passkey"),
    "user.human.mfa.otp.check.succeeded": eraseAfterFactorSuccess,
    "user.human.mfa.otp.email.check.succeeded": eraseAfterFactorSuccess,
    "user.human.mfa.otp.sms.check.succeeded": eraseAfterFactorSuccess,
    "user.human.mfa.recoverycode.check.succeeded": eraseAfterFactorSuccess,
    "user.human.mfa.u2f.token.check.succeeded": eraseAfterFactorSuccess,
    "user.human.passwordless.token.check.succeeded": eraseAfterFactorSuccess,
    "user.removed": (db, { id }) => failedTable.remove(db, { user_id: id }),
  },
  onPruned: {
    password_check: (db, { id: line }) =>
      failedTable.remove(db, { stream: passwordCheck.stream, line }),
    factor_check: (db, { id: line }) =>
      failedTable.remove(db, { stream: factorCount.stream, line }),
  },
})

const selectByUser = failedTable.select(
  ["line", "version", "time", "known", "failed", "address", "user_agent"],
  `AND user_id = $userId
     AND time > CASE failed WHEN 'password' THEN $passwordsSince ELSE $factorsSince END
   ORDER BY time DESC LIMIT 1000`,
)

/** A failed check. */
export type FailedSignIn = NonNullable<typeof selectByUser.row>

/** Failed sign-ins of a user; active streams also contain older ones. */
export function listFailedSignIns(cx: Cx, userId: string, page: Page): SearchResult<FailedSignIn> {
  const now = cx.clock.now()
  const since = { passwordsSince: now - passwordListedMs, factorsSince: now - factorListedMs }
  return paginate(cx, cx.store.all(cx, selectByUser, { userId, ...since }), {
    page,
    requested: ["failed_sign_ins", userId],
    by: ({ time, failed, line, version }) => [time, failed, line, version],
  })
}

const selectStreams = statement<{ line: string; stream: string }>(
  `SELECT DISTINCT stream, line FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId`,
)

/** IDs of the streams that count attempts of an account, besides its own. */
export function listAccountStreams(cx: Cx, userId: string): readonly string[] {
  const lines = cx.store.all(cx, selectStreams, { userId }).map(({ line }) => line)
  const links = lines.map((line) => codeCountId(line, "magic_link"))
  return [...new Set([...lines, ...links, ...codeCountIds(userId)])]
}

/** Events of the first revision have no sender to erase. */
const selectStreamsWithSender = statement<{ line: string; stream: string }>(
  `SELECT DISTINCT stream, line FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId AND has_sender = 1`,
)

/**
 * Erases the senders of failed sign-ins in the transaction that removes a user. While nodes of an
 * earlier version are running, events have no sender, so users can be removed then too.
 */
export const failureErasure: Consequences = {
  name: "failed-sign-ins",
  on: {
    "user.removed":
      ({ id: userId }) =>
      ({ cx, tx }) => {
        // Reading the state makes the transaction retry if this node had not read all events.
        tx.state(passwordCheck, userId)
        tx.state(factorCount, userId)
        for (const { stream, line } of cx.store.all(cx, selectStreamsWithSender, { userId })) {
          const isPassword = stream === passwordCheck.stream
          if (isPassword) tx.append(passwordCheck, line, [passwordErasedEvent])
          else tx.append(factorCount, line, [factorErasedEvent])
        }
      },
  },
}

const passwordErasedEvent: Draft<PasswordCheckEvent> = {
  type: "user.human.password.check.erased",
  data: {},
  erase: {},
}
const factorErasedEvent: Draft<FactorCheckEvent> = {
  type: "user.human.factor.check.erased",
  data: {},
  erase: {},
}
