import { EmptyState } from "../../kit/empty-state.tsx"
import { useHouse } from "../house.ts"
import { LinkButton } from "../link.tsx"
import { PageFrame } from "../page-frame.tsx"

export function MissingPage() {
  const { t } = useHouse()
  const home = <LinkButton to={{ page: "projects" }}>{t("missing.home")}</LinkButton>
  return (
    <PageFrame title={t("missing.title")}>
      <EmptyState title={t("missing.what")} action={home}>
        {t("missing.todo")}
      </EmptyState>
    </PageFrame>
  )
}
