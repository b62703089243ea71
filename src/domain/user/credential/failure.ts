import type { Found, Page } from "../../../kernel/page.ts"
import { type Cx, statement, view, windowOf } from "../../../store/index.ts"
import type { UserEvent } from "../model.ts"
import { accountIn, type PasswordCheckEvent } from "./attempt.ts"
import { codeCountId, codeCounts } from "./code-count.ts"

/** A try with a wrong password; `time` is ms UTC. */
export type FailedSignIn = {
  readonly line: string
  readonly version: number
  readonly time: number
  readonly known: number
}

/** Of each place that tries come from, the latest; whoever guesses on makes no more rows. */
const kept = 50

const insert = statement(
  `INSERT INTO failed_sign_ins (instance, line, version, user_id, known, time)
   VALUES ($instance, $id, $version, $userId, $known, $time)`,
)
const forgetOld = statement(
  `DELETE FROM failed_sign_ins
   WHERE instance = $instance AND line = $id AND version <= $version - ${kept}`,
)
const removeLine = statement(
  "DELETE FROM failed_sign_ins WHERE instance = $instance AND line = $id",
)
const removeUser = statement(
  "DELETE FROM failed_sign_ins WHERE instance = $instance AND user_id = $id",
)

/** Who failed to sign in to which account; names that are nobody's are not in it. */
export const failedSignInView = view<PasswordCheckEvent | UserEvent>({
  name: "failed_sign_in",
  tables: {
    failed_sign_ins: {
      columns: `line TEXT NOT NULL, version INTEGER NOT NULL, user_id TEXT NOT NULL,
        known INTEGER NOT NULL, time INTEGER NOT NULL`,
      key: "line, version",
      indexes: { user: "user_id" },
    },
  },
  on: {
    "user.human.password.check.failed": (db, { id }) => {
      const { userId, isKnown } = accountIn(id)
      if (userId === undefined) return
      db.run(insert, { userId, known: isKnown })
      db.run(forgetOld)
    },
    "user.removed": (db) => db.run(removeUser),
  },
  dropped: { password_check: (db) => db.run(removeLine) },
})

const ofUser = statement<FailedSignIn>(
  `SELECT line, version, time, known FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId ORDER BY time DESC LIMIT 1000`,
)

/** The failed sign-ins of a person, as long as they are kept. */
export const failedSignIns = (cx: Cx, userId: string, page: Page): Found<FailedSignIn> =>
  windowOf(cx, cx.store.all(cx, ofUser, { userId }), {
    page,
    requested: ["failed_sign_ins", userId],
    by: ({ time, line, version }) => [time, line, version],
  })

const linesOf = statement<{ line: string }>(
  `SELECT DISTINCT line FROM failed_sign_ins
   WHERE instance = $instance AND user_id = $userId LIMIT 1000`,
)

/** The IDs of the streams in which tries with an account are counted, apart from its own. */
export function accountStreams(cx: Cx, userId: string): readonly string[] {
  const lines = cx.store.all(cx, linesOf, { userId }).map(({ line }) => line)
  return [...lines, ...lines.map((line) => codeCountId(line, "magic_link")), ...codeCounts(userId)]
}
