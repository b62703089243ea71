import { useState } from "react"
import { ApplicationState } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Chips } from "../../kit/choice.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import { applicationColumns, readApplications } from "../application-list.tsx"
import { useHouse } from "../house.ts"
import { LinkButton } from "../link.tsx"
import { Listing } from "../listing.tsx"
import { PageFrame } from "../page-frame.tsx"

const states = {
  all: ApplicationState.UNSPECIFIED,
  active: ApplicationState.ACTIVE,
  inactive: ApplicationState.INACTIVE,
} as const
type Chosen = keyof typeof states

/** Applications across every project one may see. */
export function ApplicationsPage() {
  const house = useHouse()
  const { t } = house
  const [chosen, setChosen] = useState<Chosen>("all")
  const state = states[chosen]
  const toProjects = (
    <LinkButton to={{ page: "projects" }}>{t("applications.to_projects")}</LinkButton>
  )
  const options: readonly Chosen[] = ["all", "active", "inactive"]
  const filters = (
    <Chips
      legend={t("field.state")}
      name="state"
      options={options.map((value) => ({ value, label: t(`filter.${value}`) }))}
      value={chosen}
      onChange={setChosen}
    />
  )
  const empty = (
    <EmptyState title={t("applications.empty.title")} action={toProjects}>
      {t("applications.empty_across.text")}
    </EmptyState>
  )
  return (
    <PageFrame title={t("nav.applications")}>
      <Listing
        caption={t("nav.applications")}
        scope={chosen}
        read={(asked, signal) => readApplications(house, { ...asked, state }, signal)}
        columns={applicationColumns(house)}
        keyOf={(application) => application.applicationId}
        filters={filters}
        filtered={chosen !== "all"}
        empty={empty}
      />
    </PageFrame>
  )
}
