import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { authorize } from "../../src/api/access.ts"
import { accessOf } from "../../src/api/access-rule.ts"
import { AdminService } from "../../src/gen/core/admin/v1/admin_service_pb.ts"
import { ApplicationService } from "../../src/gen/core/application/v2/application_service_pb.ts"
import { AuthService } from "../../src/gen/core/auth/v1/auth_service_pb.ts"
import { InstanceService } from "../../src/gen/core/instance/v2/instance_service_pb.ts"
import { InternalPermissionService } from "../../src/gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { ManagementService } from "../../src/gen/core/management/v1/management_service_pb.ts"
import { ProjectService } from "../../src/gen/core/project/v2/project_service_pb.ts"
import { SystemService } from "../../src/gen/core/system/v1/system_service_pb.ts"
import { UserService } from "../../src/gen/core/user/v2/user_service_pb.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { authority, type Cx, contextOf } from "./world.ts"

/** Calls a method as a user; returns "ok" or the code and message of the fault. */
function outcomeAs<M extends DescMethod>(
  userName: string | null,
  method: M,
  request: MessageInitShape<M["input"]>,
  more: Partial<Cx> = {},
): string {
  try {
    admit(userName, method, request, more)
    return "ok"
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message} (${error.id})`
    throw error
  }
}

function admit<M extends DescMethod>(
  userName: string | null,
  method: M,
  request: MessageInitShape<M["input"]>,
  more: Partial<Cx> = {},
): Cx {
  const access = accessOf(method, new Set(Object.keys(authority.resources)))
  return authorize(authority, access, contextOf(userName, more), create(method.input, request))
}

const { getUserByID, listUsers, deleteUser, createUser } = UserService.method
const { updateApplication } = ApplicationService.method
const userNotFound = "not_found: user not found (user.missing)"
const lacksRead = "permission_denied: permission denied: user.read is required (access.denied)"

describe("a shared resource", () => {
  const { getProject, deactivateProject } = ProjectService.method
  const noProject = "not_found: project not found (project.missing)"

  test("can be accessed through the resource it is shared with if the rule allows this", () => {
    expect(outcomeAs("manager1", getProject, { projectId: "p1" })).toBe("ok")
    expect(outcomeAs("manager2", getProject, { projectId: "p1" })).toBe("ok")
    expect(outcomeAs("manager2", deactivateProject, { projectId: "p1" })).toBe(noProject)
  })

  test("has one name, whatever field of the rule names it", () => {
    expect(outcomeAs("manager2", getProject, { projectId: "p404" })).toBe(noProject)
  })
})

describe("an operation on one resource", () => {
  test("requires a token", () => {
    expect(outcomeAs(null, getUserByID, { userId: "u1" })).toMatch(/^unauthenticated: /)
  })

  test("requires the permission on its organization or above", () => {
    expect(outcomeAs("users1", getUserByID, { userId: "u1" })).toBe("ok")
    expect(outcomeAs("owner", getUserByID, { userId: "u2" })).toBe("ok")
  })

  test("returns the same error for an inaccessible ID and an unknown one", () => {
    expect(outcomeAs("users1", getUserByID, { userId: "u2" })).toBe(userNotFound)
    expect(outcomeAs("users1", getUserByID, { userId: "u404" })).toBe(userNotFound)
    expect(outcomeAs("owner", getUserByID, { userId: "u404" })).toBe(userNotFound)
  })

  test("names the missing permission whether or not the ID exists", () => {
    expect(outcomeAs("project1", getUserByID, { userId: "u1" })).toBe(lacksRead)
    expect(outcomeAs("project1", getUserByID, { userId: "u404" })).toBe(lacksRead)
  })

  test("rejects an empty ID and names its field", () => {
    expect(outcomeAs("owner", getUserByID, { userId: "" })).toMatch(
      /^invalid_argument: user_id is /,
    )
  })

  test("ignores the organization in the request", () => {
    expect(outcomeAs("users1", getUserByID, { userId: "u2" }, { orgId: "o1" })).toBe(userNotFound)
    expect(outcomeAs("users1", createUser, { organizationId: "o2" })).toBe(
      "not_found: organization not found (org.missing)",
    )
  })

  test("rejects the system caller, which has no roles", () => {
    const caller = { kind: "system", name: "job" } as const
    expect(outcomeAs("owner", getUserByID, { userId: "u1" }, { caller })).toMatch(
      /^permission_denied/,
    )
  })
})

describe("self", () => {
  test("lets users read themselves if the rule allows it", () => {
    expect(outcomeAs("u2", getUserByID, { userId: "u2" })).toBe("ok")
    expect(outcomeAs("u2", getUserByID, { userId: "u1" })).toBe(lacksRead)
  })

  test("requires the permission that the rule names for it", () => {
    expect(outcomeAs("u1", deleteUser, { userId: "u1" })).toBe("ok")
    expect(outcomeAs("u2", deleteUser, { userId: "u2" })).toMatch(
      /^permission_denied: .*user\.delete/,
    )
    expect(outcomeAs("u1", deleteUser, { userId: "u2" })).toMatch(
      /^permission_denied: .*user\.delete/,
    )
  })
})

describe("a parent", () => {
  const missing = "not_found: application not found (app.missing)"

  test("must be the parent of the resource", () => {
    const ask = (projectId: string) =>
      outcomeAs("owner", updateApplication, { applicationId: "a1", projectId })
    expect(ask("p1")).toBe("ok")
    expect(ask("p2")).toBe(missing)
    expect(ask("")).toMatch(/^invalid_argument: project_id is required/)
  })

  test("gives its manager no access to a resource of another project", () => {
    const ask = (applicationId: string) =>
      outcomeAs("project1", updateApplication, { applicationId, projectId: "p1" })
    expect(ask("a1")).toBe("ok")
    expect(ask("a2")).toBe(missing)
  })
})

describe("the instance", () => {
  const { getInstance } = InstanceService.method

  test("can be named by its own ID only", () => {
    expect(outcomeAs("owner", getInstance, {})).toBe("ok")
    expect(outcomeAs("owner", getInstance, { instanceId: "i1" })).toBe("ok")
    expect(outcomeAs("owner", getInstance, { instanceId: "i2" })).toMatch(/^not_found: /)
  })

  test("is not opened by a role on an organization", () => {
    expect(outcomeAs("manager1", getInstance, {})).toMatch(/^not_found: /)
    expect(outcomeAs("users1", getInstance, {})).toMatch(/^permission_denied: /)
  })
})

describe("the organization of the context", () => {
  const { getMyOrg, addProject } = ManagementService.method

  test("defaults to the caller's own", () => {
    expect(admit("manager1", getMyOrg, {}).orgId).toBe("o1")
    expect(admit("owner", getMyOrg, {}, { orgId: "o2" }).orgId).toBe("o2")
  })

  test("requires the permission on that organization", () => {
    expect(outcomeAs("manager1", addProject, {}, { orgId: "o2" })).toMatch(/^not_found: /)
  })

  test("returns the same error in every service if the caller has no role there", () => {
    const methods = [
      ManagementService.method.getMyOrg,
      ManagementService.method.getProjectByID,
      ManagementService.method.listProjects,
      AuthService.method.getMyUser,
      AuthService.method.listMyMemberships,
      AdminService.method.listInstanceDomains,
      AdminService.method.getLoginPolicy,
    ]
    const noOrg = "not_found: organization not found (org.missing)"
    for (const method of methods) {
      for (const orgId of ["o2", "o404"]) {
        expect([method.name, outcomeAs("manager1", method, {}, { orgId })]).toEqual([
          method.name,
          noOrg,
        ])
      }
      expect(outcomeAs("owner", method, {}, { orgId: "o404" })).toBe(noOrg)
      expect(outcomeAs("owner", method, {}, { orgId: "o2" })).not.toBe(noOrg)
      expect(outcomeAs("manager1", method, {}, { orgId: "o1" })).not.toBe(noOrg)
    }
    expect(outcomeAs("manager1", getUserByID, { userId: "u1" }, { orgId: "o2" })).toBe("ok")
  })

  test("can be that of a project or a grant that the caller administers", () => {
    const { getMyUser } = AuthService.method
    const noOrg = "not_found: organization not found (org.missing)"
    expect(outcomeAs("project1", getMyUser, {}, { orgId: "o2" })).toBe(noOrg)
    expect(outcomeAs("visitor", getMyUser, {}, { orgId: "o1" })).toBe("ok")
    expect(outcomeAs("holder", getMyUser, {}, { orgId: "o2" })).toBe("ok")
    expect(outcomeAs("nobody", addProject, {})).toMatch(/^permission_denied: .*project\.create/)
  })
})

describe("a search", () => {
  const none = { orgs: [], projects: [], grants: [] }

  test("returns rows only where the caller has the permission", () => {
    const scope = { all: false, ...none, orgs: ["o1"], self: "users1" }
    expect(admit("users1", listUsers, {}).scope).toEqual(scope)
    expect(admit("owner", listUsers, {}).scope).toEqual({ all: true, ...none, self: "owner" })
  })

  test("returns only the caller without the permission, if the rule allows it", () => {
    expect(admit("nobody", listUsers, {}).scope).toEqual({ all: false, ...none, self: "nobody" })
  })

  test("is rejected without the permission if the rule does not allow it", () => {
    const { listProjects } = ManagementService.method
    expect(outcomeAs("nobody", listProjects, {})).toMatch(/^permission_denied: .*project\.read/)
    expect(admit("project1", listProjects, {}).scope?.projects).toEqual(["p1"])
  })

  test("scopes each kind of row by its own permission", () => {
    const { listAdministrators } = InternalPermissionService.method
    const scope = admit("orgmembers", listAdministrators, {}).scope
    expect(scope).toMatchObject({ all: false, ...none })
    expect(scope?.kinds).toEqual({
      instance: { all: false, ...none },
      org: { all: true, ...none },
      project: { all: false, ...none },
      grant: { all: false, ...none },
      user: { all: false, ...none },
    })
    expect(outcomeAs("nobody", listAdministrators, {})).toMatch(
      /^permission_denied: .*iam\.member\.read/,
    )
  })
})

describe("a rule for one of several kinds of resource", () => {
  const { createAdministrator } = InternalPermissionService.method
  type Resource = NonNullable<
    MessageInitShape<typeof createAdministrator.input>["resource"]
  >["resource"]
  const ask = (userName: string, resource?: Resource) =>
    outcomeAs(userName, createAdministrator, {
      userId: "u1",
      ...(resource && { resource: { resource } }),
    })

  test("is selected by the field that the request sets", () => {
    expect(ask("owner", { case: "instance", value: true })).toBe("ok")
    expect(ask("manager1", { case: "organizationId", value: "o1" })).toBe("ok")
    expect(ask("manager1", { case: "organizationId", value: "o2" })).toMatch(/^not_found: /)
    expect(ask("orgmembers", { case: "organizationId", value: "o2" })).toBe("ok")
    expect(ask("orgmembers", { case: "instance", value: true })).toBe(
      "permission_denied: permission denied: iam.member.write is required (access.denied)",
    )
  })

  test("finds a grant by its project", () => {
    const grant = (projectId: string): Resource => ({
      case: "projectGrant",
      value: { projectId, organizationId: "o2" },
    })
    expect(ask("grant1", grant("p1"))).toBe("ok")
    expect(ask("grant1", grant("p2"))).toBe("not_found: project grant not found (grant.missing)")
  })

  test("rejects a request that names no resource", () => {
    expect(ask("owner")).toMatch(/^invalid_argument: one of these fields is required: resource\./)
    expect(ask("owner", { case: "instance", value: false })).toMatch(/^invalid_argument: /)
  })
})

describe("an open operation", () => {
  test("needs no token if it is public", () => {
    expect(outcomeAs(null, SystemService.method.healthz, {})).toBe("ok")
  })

  test("requires a token if it requires no permission", () => {
    expect(outcomeAs(null, AuthService.method.getMyUser, {})).toMatch(/^unauthenticated: /)
    expect(outcomeAs("nobody", AuthService.method.getMyUser, {})).toBe("ok")
  })
})
