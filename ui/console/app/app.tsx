import { Outlet } from "@tanstack/react-router"
import { Alert, ButtonLink, Dialog } from "../../kit/index.ts"
import { isClockWrong, serverNow } from "../shell/clock.ts"
import { useIsReachable } from "../shell/connection.ts"
import { contentId, Waiting } from "../shell/frame.tsx"
import { Notices } from "../shell/notice.tsx"
import { useManages } from "../shell/organization.tsx"
import { type Failure, signIn, signInElsewhere, useSession } from "../shell/session.ts"
import { language, t } from "../shell/text.ts"
import { PaletteProvider } from "./bar.tsx"
import { NothingHere } from "./boundary.tsx"
import { Gate } from "./gate.tsx"
import { Navigation, useIsAccount } from "./navigation.tsx"

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
      return <FailedGate why={session.why} />
  }
  return <Console isEnded={session.status === "ended"} />
}

/** Pages are shown once it is known that one manages anything; one's own account is everybody's. */
function Console({ isEnded }: { readonly isEnded: boolean }) {
  const isAccount = useIsAccount()
  const manages = useManages()
  if (!isAccount && manages === false) return <NothingHere />
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
        <WrongClock />
        <PaletteProvider>{isAccount || manages ? <Outlet /> : <Waiting />}</PaletteProvider>
      </div>
      <Notices />
      {isEnded && <Ended />}
    </div>
  )
}

function FailedGate({ why }: { readonly why: Failure }) {
  const title = t(why === "cookies" ? "gate.no_cookies" : "gate.failed")
  const onAct = () => location.reload()
  return <Gate title={title} message={messageOf(why)} action={t("gate.retry")} onAct={onAct} />
}

function messageOf(why: Failure): string {
  if (typeof why === "object") return why.message
  return why === "clock" ? t("gate.clock", clocks()) : t(`gate.failed.${why}`)
}

/** The clock of this device, and what the server's says in the same time zone. */
function clocks() {
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
  return { device: format.format(Date.now()), server: format.format(serverNow()) }
}

/** Sign-ins work whatever the clock says; times that people read and choose do not. */
function WrongClock() {
  if (!isClockWrong()) return null
  return (
    <div className="away" role="status">
      <Alert tone="warning">{t("gate.clock", clocks())}</Alert>
    </div>
  )
}

/** The server can't be reached: said once, at the top, until it answers again. */
function Away() {
  const reached = useIsReachable()
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
