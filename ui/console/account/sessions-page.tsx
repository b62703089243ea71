import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import type { Session } from "../../../src/gen/core/session/v2/session_pb.ts"
import { SessionService } from "../../../src/gen/core/session/v2/session_service_pb.ts"
import { TimestampQueryMethod } from "../../../src/gen/core/v1/time_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { FailedSignIns, originText, SignInOrigin, Time } from "../list/index.ts"
import { call, Page, Part, Section, t, useRead, useSession } from "../shell/index.ts"
import { Applications } from "./connected-applications.tsx"
import { useMe } from "./me.ts"

/** Where one is signed in, which applications may act for one, and which sign-ins failed. */
export function SessionsPage() {
  const [since] = useState(() => timestampFromMs(Date.now()))
  const me = useMe()
  if (!me) return null
  return (
    <Page title={t("nav.sessions")} narrow>
      <Part>
        <Sessions userId={me.user.id} since={since} />
      </Part>
      <Part>
        <Applications />
      </Part>
      <Part>
        <FailedSignIns userId={me.user.id} />
      </Part>
    </Page>
  )
}

/** More than anybody has; who has still more sees those after the first have ended. */
const shownMax = 100

const end = (sessionId: string) => call(SessionService.method.deleteSession, { sessionId })

/** Those that have not ended by themselves `since`, which stays while they are read. */
type SessionsProps = { readonly userId: string; readonly since: Timestamp }

function Sessions({ userId, since: expirationDate }: SessionsProps) {
  const session = useSession()
  const here = session.status === "signed-in" ? session.person.sessionId : ""
  const method = TimestampQueryMethod.GREATER
  const { sessions } = useRead(SessionService.method.listSessions, {
    query: { limit: shownMax },
    queries: [
      { query: { case: "userIdQuery", value: { id: userId } } },
      { query: { case: "expirationDateQuery", value: { expirationDate, method } } },
    ],
  })
  const others = sessions.filter(({ id }) => id !== here)
  const own = sessions.filter(({ id }) => id === here)
  const endOthers = async () => {
    for (const { id } of others) await end(id)
  }
  const actions = others.length > 0 && (
    <ConfirmButton
      needs="own"
      small
      label={t("account.sessions.end_all")}
      what={t("account.sessions.others", { count: others.length })}
      consequence={t("account.sessions.end_all_text")}
      act={endOthers}
    />
  )
  return (
    <Section title={t("sessions.title")} actions={actions}>
      <p className="quiet section-lead">{t("account.sessions.text")}</p>
      <ul className="way-list">
        {[...own, ...others.toSorted((a, b) => usedAt(b) - usedAt(a))].map((each) => (
          <Row key={each.id} session={each} isHere={each.id === here} />
        ))}
      </ul>
    </Section>
  )
}

const usedAt = ({ changeDate }: Session): number => (changeDate ? timestampMs(changeDate) : 0)

type RowProps = { readonly session: Session; readonly isHere: boolean }

function Row({ session: { id, userAgent, creationDate, changeDate }, isHere }: RowProps) {
  return (
    <li>
      <div className="way-text">
        <p>
          <SignInOrigin userAgent={userAgent} />{" "}
          {isHere && <Badge tone="done">{t("account.sessions.here")}</Badge>}
        </p>
        <p className="quiet small">
          {t("sessions.since")} <Time at={creationDate} /> · {t("account.sessions.used")}{" "}
          <Time at={changeDate} />
        </p>
      </div>
      {!isHere && (
        <ConfirmButton
          needs="own"
          small
          label={t("nav.sign_out")}
          what={originText(userAgent)}
          consequence={t("account.sessions.end_text")}
          act={() => end(id)}
        />
      )}
    </li>
  )
}
