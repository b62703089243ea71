import type { MessageInitShape } from "@bufbuild/protobuf"
import { GroupsClaim, PrivateLabelingSetting } from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequestSchema,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { SelectSetting, Switch } from "../form/index.ts"
import { call, Section, t } from "../shell/index.ts"
import type { ProjectPart } from "./part.ts"

type Change = Extract<
  MessageInitShape<typeof UpdateProjectRequestSchema>,
  { readonly $typeName?: never }
>

const { updateProject } = ProjectService.method

const switches = ["projectRoleAssertion", "authorizationRequired", "projectAccessRequired"] as const

/** Who may sign in to the applications of a project, and what those learn of roles. */
export function Rules({ project }: ProjectPart) {
  const { projectId } = project
  const change = (wanted: Change) => call(updateProject, { ...wanted, projectId })
  return (
    <Section title={t("rules.title")}>
      <div className="checks">
        {switches.map((name) => (
          <Switch
            key={name}
            needs={updateProject}
            label={t(`rules.${name}`)}
            hint={t(`rules.${name}.hint`)}
            on={project[name]}
            {...(name !== "projectRoleAssertion" && { asks: t(`rules.${name}.asks`) })}
            act={(on) => change({ [name]: on })}
          />
        ))}
      </div>
      <SelectSetting
        needs={updateProject}
        label={t("rules.groups")}
        hint={t("rules.groups.hint")}
        of={claims}
        words={(name) => t(`rules.groups.${name}`)}
        current={project.groupsClaim}
        act={(groupsClaim) => change({ groupsClaim })}
      />
      <SelectSetting
        needs={updateProject}
        label={t("rules.look")}
        hint={t("rules.look.hint")}
        of={looks}
        words={(name) => t(`rules.look.${name}`)}
        current={project.privateLabelingSetting}
        act={(privateLabelingSetting) => change({ privateLabelingSetting })}
      />
    </Section>
  )
}

/** Many programs read roles from a plain list only. */
const claims = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

/** Whose look the pages have on the way to the applications. */
const looks = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  person: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const
