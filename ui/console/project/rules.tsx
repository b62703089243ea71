import type { MessageInitShape } from "@bufbuild/protobuf"
import { GroupsClaim, type Project } from "../../../src/gen/core/project/v2/project_pb.ts"
import type { UpdateProjectRequestSchema } from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { SelectField } from "../../kit/select.tsx"
import { Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { type Changed, useActionWith } from "../load.ts"
import { Switch } from "../switch.tsx"

/** What every part of a project's page is handed. */
export type ProjectPart = { readonly project: Project; readonly onChanged: Changed }

type Change = Extract<
  MessageInitShape<typeof UpdateProjectRequestSchema>,
  { readonly $typeName?: never }
>

const switches = ["projectRoleAssertion", "authorizationRequired", "projectAccessRequired"] as const

/** Who may sign in to the applications of a project, and what those learn of roles. */
export function Rules({ project, onChanged }: ProjectPart) {
  const { t, core } = useHouse()
  const { projectId } = project
  const change = async (wanted: Change) => {
    await core.projects.updateProject({ ...wanted, projectId })
    await onChanged()
  }
  return (
    <Section title={t("rules.title")}>
      <div className="checks">
        {switches.map((name) => (
          <Switch
            key={name}
            label={t(`rules.${name}`)}
            hint={t(`rules.${name}.hint`)}
            on={project[name]}
            act={(on) => change({ [name]: on })}
          />
        ))}
      </div>
      <Groups project={project} change={(groupsClaim) => change({ groupsClaim })} />
    </Section>
  )
}

const claims = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const
type ClaimName = keyof typeof claims
const claimNames: readonly ClaimName[] = ["off", "groups", "roles"]

type GroupsProps = {
  readonly project: Project
  readonly change: (claim: GroupsClaim) => Promise<void>
}

/** Many programs read roles from a plain list only. */
function Groups({ project, change }: GroupsProps) {
  const { t } = useHouse()
  const action = useActionWith((name: ClaimName) => change(claims[name]))
  const current = claimNames.find((name) => claims[name] === project.groupsClaim) ?? "off"
  return (
    <div className="form">
      <SelectField
        label={t("rules.groups")}
        hint={t("rules.groups.hint")}
        options={claimNames.map((value) => ({ value, label: t(`rules.groups.${value}`) }))}
        value={current}
        onChange={action.run}
      />
      {action.error && <Alert tone="danger">{action.error}</Alert>}
    </div>
  )
}
