import { Alert } from "../../kit/index.ts"
import { Page } from "./frame.tsx"
import { LinkButton } from "./link.tsx"
import { t } from "./text.ts"

/** An address that leads nowhere. */
export function Missing() {
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
