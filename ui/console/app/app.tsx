import { Outlet } from "@tanstack/react-router"
import { Alert, ButtonLink, Dialog } from "../../kit/index.ts"
import { isClockWrong, serverNow } from "../shell/clock.ts"
import { useIsReachable } from "../shell/connection.ts"
import { contentId, PageLoading } from "../shell/frame.tsx"
import { Notices } from "../shell/notice.tsx"
import { useCanManage } from "../shell/organization.tsx"
import { type Failure, signIn, signInTabPath, useSession } from "../shell/session.ts"
import { language, t } from "../shell/text.ts"
import { PaletteProvider } from "./bar.tsx"
import { NothingToManage } from "./boundary.tsx"
import { Gate } from "./gate.tsx"
import { Navigation, useIsAccount } from "./navigation.tsx"

/** The layout around every page; rendered immediately, also while the session is renewed. */
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

/** Pages are shown once the user's permissions are loaded; the account pages are for everyone. */
function Console({ isEnded }: { readonly isEnded: boolean }) {
  const isAccount = useIsAccount()
  const manages = useCanManage()
  if (!isAccount && manages === false) return <NothingToManage />
  return (
    <div className="console">
      <a className="skip-link" href={`#${contentId}`}>
        {t("nav.skip")}
      </a>
      <aside className="sidebar">
        <Navigation />
      </aside>
      <div className="column">
        <OfflineWarning />
        <ClockWarning />
        <PaletteProvider>{isAccount || manages ? <Outlet /> : <PageLoading />}</PaletteProvider>
      </div>
      <Notices />
      {isEnded && <SessionEndedDialog />}
    </div>
  )
}

function FailedGate({ why: failure }: { readonly why: Failure }) {
  const title = t(failure === "cookies" ? "gate.no_cookies" : "gate.failed")
  const onAct = () => location.reload()
  return (
    <Gate title={title} message={failureMessage(failure)} action={t("gate.retry")} onAct={onAct} />
  )
}

function failureMessage(failure: Failure): string {
  if (typeof failure === "object") return failure.message
  return failure === "clock" ? t("gate.clock", clockTimes()) : t(`gate.failed.${failure}`)
}

/** The times of this device and of the server, in the same time zone. */
function clockTimes() {
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
  return { device: format.format(Date.now()), server: format.format(serverNow()) }
}

/**
 * Warns about a wrong device clock, which affects displayed and selected times, but not sign-ins.
 */
function ClockWarning() {
  if (!isClockWrong()) return null
  return (
    <div className="away" role="status">
      <Alert tone="warning">{t("gate.clock", clockTimes())}</Alert>
    </div>
  )
}

/** Shown while the server can't be reached. */
function OfflineWarning() {
  const reached = useIsReachable()
  return (
    <div className="away" role="status">
      {!reached && <Alert tone="warning">{t("gate.away")}</Alert>}
    </div>
  )
}

/** Lets the user sign in in a new tab, so that unsaved input on the page is kept. */
function SessionEndedDialog() {
  return (
    <Dialog title={t("gate.ended")} onClose={() => {}}>
      <p>{t("gate.ended_text")}</p>
      <div className="form-actions">
        <ButtonLink kind="primary" href={signInTabPath} target="_blank">
          {t("gate.again")}
        </ButtonLink>
      </div>
    </Dialog>
  )
}
