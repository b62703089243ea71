import type { MessageInitShape } from "@bufbuild/protobuf"
import { GroupsClaim, PrivateLabelingSetting } from "../../../src/gen/core/project/v2/project_pb.ts"
import {
  ProjectService,
  type UpdateProjectRequestSchema,
} from "../../../src/gen/core/project/v2/project_service_pb.ts"
import { SelectSetting, Switch } from "../form/index.ts"
import { call, Section, t } from "../shell/index.ts"
import type { ProjectPart } from "./part.ts"

type ProjectUpdate = Extract<
  MessageInitShape<typeof UpdateProjectRequestSchema>,
  { readonly $typeName?: never }
>

const { updateProject } = ProjectService.method

const switchFields = [
  "projectRoleAssertion",
  "authorizationRequired",
  "projectAccessRequired",
] as const

/** Who can sign in to the applications of a project, and which role claims they get. */
export function ProjectRules({ project }: ProjectPart) {
  const { projectId } = project
  const change = (update: ProjectUpdate) => call(updateProject, { ...update, projectId })
  return (
    <Section title={t("rules.title")}>
      <div className="checks">
        {switchFields.map((name) => (
          <Switch
            key={name}
            needs={updateProject}
            label={t(`rules.${name}`)}
            hint={t(`rules.${name}.hint`)}
            on={project[name]}
            {...(name !== "projectRoleAssertion" && { confirmation: t(`rules.${name}.asks`) })}
            act={(on) => change({ [name]: on })}
          />
        ))}
      </div>
      <SelectSetting
        needs={updateProject}
        label={t("rules.groups")}
        hint={t("rules.groups.hint")}
        options={groupsClaims}
        format={(name) => t(`rules.groups.${name}`)}
        current={project.groupsClaim}
        act={(groupsClaim) => change({ groupsClaim })}
      />
      <SelectSetting
        needs={updateProject}
        label={t("rules.look")}
        hint={t("rules.look.hint")}
        options={brandingSettings}
        format={(name) => t(`rules.look.${name}`)}
        current={project.privateLabelingSetting}
        act={(privateLabelingSetting) => change({ privateLabelingSetting })}
      />
    </Section>
  )
}

/** Many applications read roles only from a flat list. */
const groupsClaims = {
  off: GroupsClaim.OFF,
  groups: GroupsClaim.GROUPS,
  roles: GroupsClaim.ROLES,
} as const

/** Whose branding the login pages show for the project's applications. */
const brandingSettings = {
  unspecified: PrivateLabelingSetting.UNSPECIFIED,
  owner: PrivateLabelingSetting.ENFORCE_PROJECT_RESOURCE_OWNER_POLICY,
  person: PrivateLabelingSetting.ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY,
} as const
