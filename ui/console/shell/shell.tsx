import { Outlet } from "@tanstack/react-router"
import { Alert, ButtonLink, Dialog } from "../../kit/index.ts"
import { contentId, Searching } from "./frame.tsx"
import { Gate } from "./gate.tsx"
import { Navigation } from "./navigation.tsx"
import { Notices } from "./notice.tsx"
import { useReach } from "./reach.ts"
import { signIn, signInElsewhere, useSession } from "./session.ts"
import { t } from "./text.ts"

/** Around every page: drawn at once, also while the sign-in is still renewed. */
export function Shell() {
  const session = useSession()
  const onAct = () => void signIn()
  switch (session.status) {
    case "signed-out":
      return <Gate title={t("gate.signed_out")} action={t("gate.again")} onAct={onAct} />
    case "done":
      return <Gate title={t("gate.done")}>{t("gate.done_text")}</Gate>
    case "failed":
      return (
        <Gate
          title={t("gate.failed")}
          message={session.message}
          action={t("gate.retry")}
          onAct={() => location.reload()}
        />
      )
  }
  return (
    <div className="console">
      <a className="skip-link" href={`#${contentId}`}>
        {t("nav.skip")}
      </a>
      <aside className="sidebar">
        <Navigation />
      </aside>
      <div className="column">
        <Away />
        <Searching>
          <Outlet />
        </Searching>
      </div>
      <Notices />
      {session.status === "ended" && <Ended />}
    </div>
  )
}

/** The server can't be reached: said once, at the top, until it answers again. */
function Away() {
  const reached = useReach()
  return (
    <div className="away" role="status">
      {!reached && <Alert tone="warning">{t("gate.away")}</Alert>}
    </div>
  )
}

/** The page stays as it is, with all that was typed: the sign-in happens in a tab of its own. */
function Ended() {
  return (
    <Dialog title={t("gate.ended")} onClose={() => {}}>
      <p>{t("gate.ended_text")}</p>
      <div className="form-actions">
        <ButtonLink kind="primary" href={signInElsewhere} target="_blank">
          {t("gate.again")}
        </ButtonLink>
      </div>
    </Dialog>
  )
}
