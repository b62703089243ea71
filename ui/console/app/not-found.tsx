import { Alert } from "../../kit/index.ts"
import { Page } from "../shell/frame.tsx"
import { LinkButton } from "../shell/link.tsx"
import { t } from "../shell/text.ts"

/** Shown for unknown paths. */
export function PageNotFound() {
  return (
    <Page title={t("missing.title")}>
      <Alert tone="warning" title={t("missing.what")}>
        {t("missing.todo")}
      </Alert>
      <div className="row">
        <LinkButton to="/projects">{t("missing.home")}</LinkButton>
      </div>
    </Page>
  )
}
