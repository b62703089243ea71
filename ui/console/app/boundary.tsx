import type { ErrorComponentProps } from "@tanstack/react-router"
import { Button } from "../../kit/index.ts"
import { useReload } from "../shell/call.ts"
import { Page } from "../shell/frame.tsx"
import { Link } from "../shell/link.tsx"
import { nothingToManage } from "../shell/organization.tsx"
import { refusalOf } from "../shell/refusal.ts"
import { RefusalAlert } from "../shell/refusal-alert.tsx"
import { signOut } from "../shell/session.ts"
import { t } from "../shell/text.ts"
import { Gate } from "./gate.tsx"

/** Within the shell, whose places stay beside it; only who has nothing to manage sees none. */
export function FailedPage(props: ErrorComponentProps) {
  if (props.error === nothingToManage) throw props.error
  return <Failed {...props} />
}

/** A page that can't be shown: why, and a way to try again. */
export function Failed({ error, reset }: ErrorComponentProps) {
  const reload = useReload()
  if (error === nothingToManage) return <NothingHere />
  const again = async () => {
    await reload()
    reset()
  }
  return (
    <Page title={t("detail.failed")}>
      <RefusalAlert refusal={refusalOf(error)} />
      <div className="row">
        <Button onClick={() => void again()}>{t("gate.retry")}</Button>
      </div>
    </Page>
  )
}

/** For who is signed in and manages nothing: the way to their account. */
export function NothingHere() {
  return (
    <Gate title={t("gate.no_organization")} action={t("nav.sign_out")} onAct={() => void signOut()}>
      {t("gate.no_organization_text")} <Link to="/account">{t("gate.account")}</Link>
    </Gate>
  )
}
