import type { MessageInitShape } from "@bufbuild/protobuf"
import { GroupsClaim, type Project } from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequestSchema,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { SelectField } from "../../kit/select.tsx"
import { Switch } from "../form/switch.tsx"
import { call, useAction } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"
import type { ProjectPart } from "./part.ts"

type Change = Extract<
  MessageInitShape<typeof UpdateProjectRequestSchema>,
  { readonly $typeName?: never }
>

const switches = ["projectRoleAssertion", "authorizationRequired", "projectAccessRequired"] as const

/** Who may sign in to the applications of a project, and what those learn of roles. */
export function Rules({ project }: ProjectPart) {
  const { t } = useText()
  const { projectId } = project
  const change = (wanted: Change) =>
    call(ProjectService.method.updateProject, { ...wanted, projectId })
  return (
    <Section title={t("rules.title")}>
      <div className="checks">
        {switches.map((name) => (
          <Switch
            key={name}
            label={t(`rules.${name}`)}
            hint={t(`rules.${name}.hint`)}
            on={project[name]}
            {...(name !== "projectRoleAssertion" && { asks: t(`rules.${name}.asks`) })}
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
  readonly change: (claim: GroupsClaim) => Promise<unknown>
}

/** Many programs read roles from a plain list only. */
function Groups({ project, change }: GroupsProps) {
  const { t } = useText()
  const action = useAction((name: ClaimName) => change(claims[name]))
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
      <Refused refusal={action.refusal} />
    </div>
  )
}
