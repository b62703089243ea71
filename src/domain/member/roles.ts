/** The level of a role. System roles are for operators of several instances. */
export type RoleLevel = "system" | "instance" | "org" | "global" | "project" | "grant"

type Role = { readonly level: RoleLevel; readonly permissions: ReadonlySet<string> }

const defineRole = (level: RoleLevel, permissions: string): Role => ({
  level,
  permissions: new Set(permissions.split(/\s+/).filter(Boolean)),
})

/** All built-in roles, with their level and permissions. */
export const builtInRoles: Readonly<Record<string, Role>> = {
  SYSTEM_OWNER: defineRole(
    "system",
    `
      system.instance.read system.instance.write system.instance.delete system.domain.read
      system.domain.write system.domain.delete system.debug.read system.debug.write
      system.debug.delete system.feature.read system.feature.write system.feature.delete
      system.limits.write system.limits.delete system.quota.write system.quota.delete
      system.iam.member.read
    `,
  ),
  SYSTEM_OWNER_VIEWER: defineRole(
    "system",
    `
      system.instance.read system.domain.read system.debug.read system.feature.read
      system.iam.member.read
    `,
  ),
  IAM_OWNER: defineRole(
    "instance",
    `
      iam.read iam.write iam.policy.read iam.policy.write iam.policy.delete iam.member.read
      iam.member.write iam.member.delete iam.idp.read iam.idp.write iam.idp.delete
      iam.action.read iam.action.write iam.action.delete iam.flow.read iam.flow.write
      iam.flow.delete iam.feature.read iam.feature.write iam.feature.delete
      iam.restrictions.read iam.restrictions.write iam.web_key.write iam.web_key.delete
      iam.web_key.read iam.debug.write iam.debug.read org.read org.global.read org.create
      org.write org.delete org.member.read org.member.write org.member.delete org.idp.read
      org.idp.write org.idp.delete org.action.read org.action.write org.action.delete
      org.flow.read org.flow.write org.flow.delete org.feature.read org.feature.write
      org.feature.delete user.read user.global.read user.write user.delete user.grant.read
      user.grant.write user.grant.delete user.membership.read user.credential.write
      user.passkey.write user.feature.read user.feature.write user.feature.delete
      policy.read policy.write policy.delete project.read project.create project.write
      project.delete project.member.read project.member.write project.member.delete
      project.role.read project.role.write project.role.delete project.app.read
      project.app.write project.app.delete project.grant.read project.grant.write
      project.grant.delete project.grant.member.read project.grant.member.write
      project.grant.member.delete events.read milestones.read session.read session.write
      session.delete action.target.read action.target.write action.target.delete
      action.execution.read action.execution.write userschema.read userschema.write
      userschema.delete group.read group.write group.delete
    `,
  ),
  IAM_OWNER_VIEWER: defineRole(
    "instance",
    `
      iam.read iam.policy.read iam.member.read iam.idp.read iam.action.read iam.flow.read
      iam.restrictions.read iam.feature.read iam.web_key.read iam.debug.read org.read
      org.member.read org.idp.read org.action.read org.flow.read org.feature.read user.read
      user.global.read user.grant.read user.membership.read user.feature.read policy.read
      project.read project.member.read project.role.read project.app.read project.grant.read
      project.grant.member.read events.read milestones.read action.target.read
      action.execution.read userschema.read session.read group.read
    `,
  ),
  IAM_ORG_MANAGER: defineRole(
    "instance",
    `
      org.read org.global.read org.create org.write org.delete org.member.read
      org.member.write org.member.delete org.idp.read org.idp.write org.idp.delete
      org.action.read org.action.write org.action.delete org.flow.read org.flow.write
      org.flow.delete org.feature.read org.feature.write org.feature.delete user.read
      user.global.read user.write user.delete user.grant.read user.grant.write
      user.grant.delete user.membership.read user.credential.write user.passkey.write
      user.feature.read user.feature.write user.feature.delete policy.read policy.write
      policy.delete project.read project.create project.write project.delete
      project.member.read project.member.write project.member.delete project.role.read
      project.role.write project.role.delete project.app.read project.app.write
      project.app.delete project.grant.read project.grant.write project.grant.delete
      project.grant.member.read project.grant.member.write project.grant.member.delete
      session.read session.delete group.read group.write group.delete
    `,
  ),
  IAM_USER_MANAGER: defineRole(
    "instance",
    `
      org.read org.global.read org.member.read org.member.delete user.read user.global.read
      user.write user.delete user.grant.read user.grant.write user.grant.delete
      user.membership.read user.passkey.write user.feature.read user.feature.write
      user.feature.delete project.read project.member.read project.role.read
      project.app.read project.grant.read project.grant.write project.grant.delete
      project.grant.member.read session.read session.delete
    `,
  ),
  IAM_ADMIN_IMPERSONATOR: defineRole("instance", "admin.impersonation impersonation"),
  IAM_END_USER_IMPERSONATOR: defineRole("instance", "impersonation"),
  IAM_LOGIN_CLIENT: defineRole(
    "instance",
    `
      iam.read iam.policy.read iam.member.read iam.member.write iam.idp.read
      iam.feature.read iam.restrictions.read org.read org.member.read org.member.write
      org.idp.read org.feature.read user.read user.write user.grant.read user.grant.write
      user.membership.read user.credential.write user.passkey.write user.feature.read
      policy.read project.read project.member.read project.member.write project.role.read
      project.app.read project.grant.read project.grant.member.read
      project.grant.member.write session.read session.write session.link session.delete
      userschema.read
    `,
  ),
  ORG_OWNER: defineRole(
    "org",
    `
      org.read org.global.read org.write org.delete org.member.read org.member.write
      org.member.delete org.idp.read org.idp.write org.idp.delete org.action.read
      org.action.write org.action.delete org.flow.read org.flow.write org.flow.delete
      org.feature.read org.feature.write org.feature.delete user.read user.global.read
      user.write user.delete user.grant.read user.grant.write user.grant.delete
      user.membership.read user.credential.write user.passkey.write user.feature.read
      user.feature.write user.feature.delete policy.read policy.write policy.delete
      project.read project.create project.write project.delete project.member.read
      project.member.write project.member.delete project.role.read project.role.write
      project.role.delete project.app.read project.app.write project.grant.read
      project.grant.write project.grant.delete project.grant.member.read
      project.grant.member.write project.grant.member.delete session.read session.delete
      project.app.delete group.read group.write group.delete
    `,
  ),
  ORG_USER_MANAGER: defineRole(
    "org",
    `
      org.read user.read user.global.read user.write user.delete user.grant.read
      user.grant.write user.grant.delete user.membership.read user.feature.read
      user.feature.write user.feature.delete policy.read project.read project.role.read
      session.read session.delete group.read group.write group.delete
    `,
  ),
  ORG_OWNER_VIEWER: defineRole(
    "org",
    `
      org.read org.member.read org.idp.read org.action.read org.flow.read org.feature.read
      user.read user.global.read user.grant.read user.membership.read user.feature.read
      policy.read project.read project.member.read project.role.read project.app.read
      project.grant.read project.grant.member.read project.grant.user.grant.read group.read
    `,
  ),
  ORG_SETTINGS_MANAGER: defineRole(
    "org",
    `
      org.read org.write org.member.read org.idp.read org.idp.write org.idp.delete
      org.feature.read org.feature.write org.feature.delete policy.read policy.write
      policy.delete
    `,
  ),
  ORG_USER_PERMISSION_EDITOR: defineRole(
    "org",
    `
      org.read org.member.read user.read user.global.read user.grant.read user.grant.write
      user.grant.delete policy.read project.read project.member.read project.role.read
      project.app.read project.grant.read project.grant.member.read
    `,
  ),
  ORG_PROJECT_PERMISSION_EDITOR: defineRole(
    "org",
    `
      org.read org.member.read user.read user.global.read user.grant.read user.grant.write
      user.grant.delete policy.read project.read project.member.read project.role.read
      project.app.read project.grant.read project.grant.write project.grant.delete
      project.grant.member.read
    `,
  ),
  ORG_PROJECT_CREATOR: defineRole(
    "org",
    `
      user.global.read policy.read project.read:self project.create
    `,
  ),
  ORG_ADMIN_IMPERSONATOR: defineRole("org", "admin.impersonation impersonation"),
  ORG_END_USER_IMPERSONATOR: defineRole("org", "impersonation"),
  ORG_USER_SELF_MANAGER: defineRole("org", "policy.read user.self.delete"),
  SELF_MANAGEMENT_GLOBAL: defineRole("global", "org.create policy.read user.self.delete"),
  PROJECT_OWNER: defineRole(
    "project",
    `
      org.global.read policy.read project.read project.write project.delete
      project.member.read project.member.write project.member.delete project.role.read
      project.role.write project.role.delete project.app.read project.app.write
      project.app.delete project.grant.read project.grant.write project.grant.delete
      project.grant.member.read project.grant.member.write project.grant.member.delete
      user.read user.global.read user.grant.read user.grant.write user.grant.delete
      user.membership.read
    `,
  ),
  PROJECT_OWNER_VIEWER: defineRole(
    "project",
    `
      policy.read project.read project.member.read project.role.read project.app.read
      project.grant.read project.grant.member.read user.read user.global.read
      user.grant.read user.membership.read
    `,
  ),
  PROJECT_OWNER_GLOBAL: defineRole(
    "project",
    `
      org.global.read policy.read project.read project.write project.delete
      project.member.read project.member.write project.member.delete project.role.read
      project.role.write project.role.delete project.app.read project.app.write
      project.app.delete user.global.read user.grant.read user.grant.write user.grant.delete
      user.membership.read
    `,
  ),
  PROJECT_OWNER_VIEWER_GLOBAL: defineRole(
    "project",
    `
      policy.read project.read project.member.read project.role.read project.app.read
      project.grant.read project.grant.member.read user.global.read user.grant.read
      user.membership.read
    `,
  ),
  PROJECT_GRANT_OWNER: defineRole(
    "grant",
    `
      policy.read org.global.read project.read project.grant.read project.grant.member.read
      project.grant.member.write project.grant.member.delete user.read user.global.read
      user.grant.read user.grant.write user.grant.delete user.membership.read
    `,
  ),
  PROJECT_GRANT_OWNER_VIEWER: defineRole(
    "grant",
    `
      policy.read project.read project.grant.read project.grant.member.read user.read
      user.global.read user.grant.read user.membership.read
    `,
  ),
}

/** The permissions of a built-in role; empty if it does not exist. */
export const permissionsOf = (name: string): ReadonlySet<string> =>
  builtInRoles[name]?.permissions ?? noPermissions

const noPermissions: ReadonlySet<string> = new Set()
