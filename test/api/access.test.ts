import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { accessOf, authorise } from "../../src/api/access.ts"
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

/** Tries a call; answers "ok" or the code and text of the fault. */
function tryAs<M extends DescMethod>(
  who: string | null,
  method: M,
  request: MessageInitShape<M["input"]>,
  more: Partial<Cx> = {},
): string {
  try {
    admit(who, method, request, more)
    return "ok"
  } catch (error) {
    if (error instanceof Fault) return `${error.code}: ${error.message} (${error.id})`
    throw error
  }
}

function admit<M extends DescMethod>(
  who: string | null,
  method: M,
  request: MessageInitShape<M["input"]>,
  more: Partial<Cx> = {},
): Cx {
  const access = accessOf(method, new Set(Object.keys(authority.resources)))
  return authorise(authority, access, contextOf(who, more), create(method.input, request))
}

const { getUserByID, listUsers, deleteUser, createUser } = UserService.method
const { updateApplication } = ApplicationService.method
const absentUser = "not_found: there is no such user (user.missing)"
const lacksRead = "permission_denied: this needs the permission user.read (access.denied)"

describe("a resource that is shared", () => {
  const { getProject, deactivateProject } = ProjectService.method
  const noProject = "not_found: there is no such project (project.missing)"

  test("is reached from what it is shared with, where the rule says so", () => {
    expect(tryAs("manager1", getProject, { projectId: "p1" })).toBe("ok")
    expect(tryAs("manager2", getProject, { projectId: "p1" })).toBe("ok")
    expect(tryAs("manager2", deactivateProject, { projectId: "p1" })).toBe(noProject)
  })

  test("is called by one name, however the rule calls it", () => {
    expect(tryAs("manager2", getProject, { projectId: "p404" })).toBe(noProject)
  })
})

describe("an operation on one resource", () => {
  test("needs a token", () => {
    expect(tryAs(null, getUserByID, { userId: "u1" })).toMatch(/^unauthenticated: /)
  })

  test("is open to who holds the permission on its organisation or above", () => {
    expect(tryAs("users1", getUserByID, { userId: "u1" })).toBe("ok")
    expect(tryAs("owner", getUserByID, { userId: "u2" })).toBe("ok")
  })

  test("answers a foreign id like an absent one", () => {
    expect(tryAs("users1", getUserByID, { userId: "u2" })).toBe(absentUser)
    expect(tryAs("users1", getUserByID, { userId: "u404" })).toBe(absentUser)
    expect(tryAs("owner", getUserByID, { userId: "u404" })).toBe(absentUser)
  })

  test("names the permission to who holds it nowhere, whether or not the id exists", () => {
    expect(tryAs("project1", getUserByID, { userId: "u1" })).toBe(lacksRead)
    expect(tryAs("project1", getUserByID, { userId: "u404" })).toBe(lacksRead)
  })

  test("refuses an empty id by the name of its field", () => {
    expect(tryAs("owner", getUserByID, { userId: "" })).toMatch(/^invalid_argument: user_id is /)
  })

  test("does not believe the organisation that the caller claims", () => {
    expect(tryAs("users1", getUserByID, { userId: "u2" }, { orgId: "o1" })).toBe(absentUser)
    expect(tryAs("users1", createUser, { organizationId: "o2" })).toBe(
      "not_found: there is no such organisation (org.missing)",
    )
  })

  test("refuses the system, which has no roles", () => {
    const caller = { kind: "system", name: "job" } as const
    expect(tryAs("owner", getUserByID, { userId: "u1" }, { caller })).toMatch(/^permission_denied/)
  })
})

describe("self", () => {
  test("lets everybody look at themselves where the rule says so", () => {
    expect(tryAs("u2", getUserByID, { userId: "u2" })).toBe("ok")
    expect(tryAs("u2", getUserByID, { userId: "u1" })).toBe(lacksRead)
  })

  test("asks for its own permission where the rule names one", () => {
    expect(tryAs("u1", deleteUser, { userId: "u1" })).toBe("ok")
    expect(tryAs("u2", deleteUser, { userId: "u2" })).toMatch(/^permission_denied: .*user\.delete/)
    expect(tryAs("u1", deleteUser, { userId: "u2" })).toMatch(/^permission_denied: .*user\.delete/)
  })
})

describe("a parent", () => {
  const missing = "not_found: there is no such application (app.missing)"

  test("must be what the resource hangs from", () => {
    const ask = (projectId: string) =>
      tryAs("owner", updateApplication, { applicationId: "a1", projectId })
    expect(ask("p1")).toBe("ok")
    expect(ask("p2")).toBe(missing)
    expect(ask("")).toMatch(/^invalid_argument: project_id is missing/)
  })

  test("does not open the resource of another project to who manages the parent", () => {
    const ask = (applicationId: string) =>
      tryAs("project1", updateApplication, { applicationId, projectId: "p1" })
    expect(ask("a1")).toBe("ok")
    expect(ask("a2")).toBe(missing)
  })
})

describe("the instance", () => {
  const { getInstance } = InstanceService.method

  test("may be named by its own id, and by no other", () => {
    expect(tryAs("owner", getInstance, {})).toBe("ok")
    expect(tryAs("owner", getInstance, { instanceId: "i1" })).toBe("ok")
    expect(tryAs("owner", getInstance, { instanceId: "i2" })).toMatch(/^not_found: /)
  })

  test("is not opened by a role on an organisation", () => {
    expect(tryAs("manager1", getInstance, {})).toMatch(/^not_found: /)
    expect(tryAs("users1", getInstance, {})).toMatch(/^permission_denied: /)
  })
})

describe("the organisation of the context", () => {
  const { getMyOrg, addProject } = ManagementService.method

  test("is the caller's own unless they name another", () => {
    expect(admit("manager1", getMyOrg, {}).orgId).toBe("o1")
    expect(admit("owner", getMyOrg, {}, { orgId: "o2" }).orgId).toBe("o2")
  })

  test("must be one on which the caller holds the permission", () => {
    expect(tryAs("manager1", addProject, {}, { orgId: "o2" })).toMatch(/^not_found: /)
  })

  test("answers the same in every family where the caller has nothing to do with it", () => {
    const methods = [
      ManagementService.method.getMyOrg,
      ManagementService.method.getProjectByID,
      ManagementService.method.listProjects,
      AuthService.method.getMyUser,
      AuthService.method.listMyMemberships,
      AdminService.method.listInstanceDomains,
      AdminService.method.getLoginPolicy,
    ]
    const noOrg = "not_found: there is no such organisation (org.missing)"
    for (const method of methods) {
      for (const orgId of ["o2", "o404"]) {
        expect([method.name, tryAs("manager1", method, {}, { orgId })]).toEqual([
          method.name,
          noOrg,
        ])
      }
      expect(tryAs("owner", method, {}, { orgId: "o404" })).toBe(noOrg)
      expect(tryAs("owner", method, {}, { orgId: "o2" })).not.toBe(noOrg)
      expect(tryAs("manager1", method, {}, { orgId: "o1" })).not.toBe(noOrg)
    }
    expect(tryAs("manager1", getUserByID, { userId: "u1" }, { orgId: "o2" })).toBe("ok")
  })

  test("may be that of a project or a grant that the caller administers", () => {
    const { getMyUser } = AuthService.method
    const noOrg = "not_found: there is no such organisation (org.missing)"
    expect(tryAs("project1", getMyUser, {}, { orgId: "o2" })).toBe(noOrg)
    expect(tryAs("visitor", getMyUser, {}, { orgId: "o1" })).toBe("ok")
    expect(tryAs("holder", getMyUser, {}, { orgId: "o2" })).toBe("ok")
    expect(tryAs("nobody", addProject, {})).toMatch(/^permission_denied: .*project\.create/)
  })
})

describe("a search", () => {
  const none = { orgs: [], projects: [], grants: [] }

  test("is scoped to where the caller holds the permission", () => {
    const scope = { all: false, ...none, orgs: ["o1"], self: "users1" }
    expect(admit("users1", listUsers, {}).scope).toEqual(scope)
    expect(admit("owner", listUsers, {}).scope).toEqual({ all: true, ...none, self: "owner" })
  })

  test("shows themselves to who holds it nowhere, if the rule says so", () => {
    expect(admit("nobody", listUsers, {}).scope).toEqual({ all: false, ...none, self: "nobody" })
  })

  test("is refused to who holds it nowhere, if the rule does not", () => {
    const { listProjects } = ManagementService.method
    expect(tryAs("nobody", listProjects, {})).toMatch(/^permission_denied: .*project\.read/)
    expect(admit("project1", listProjects, {}).scope?.projects).toEqual(["p1"])
  })

  test("over several kinds of rows scopes each kind by its own permission", () => {
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
    expect(tryAs("nobody", listAdministrators, {})).toMatch(
      /^permission_denied: .*iam\.member\.read/,
    )
  })
})

describe("a rule for one of several kinds of resource", () => {
  const { createAdministrator } = InternalPermissionService.method
  type Resource = NonNullable<
    MessageInitShape<typeof createAdministrator.input>["resource"]
  >["resource"]
  const ask = (who: string, resource?: Resource) =>
    tryAs(who, createAdministrator, { userId: "u1", ...(resource && { resource: { resource } }) })

  test("is chosen by what the request names", () => {
    expect(ask("owner", { case: "instance", value: true })).toBe("ok")
    expect(ask("manager1", { case: "organizationId", value: "o1" })).toBe("ok")
    expect(ask("manager1", { case: "organizationId", value: "o2" })).toMatch(/^not_found: /)
    expect(ask("orgmembers", { case: "organizationId", value: "o2" })).toBe("ok")
    expect(ask("orgmembers", { case: "instance", value: true })).toBe(
      "permission_denied: this needs the permission iam.member.write (access.denied)",
    )
  })

  test("finds a grant by the project that it belongs to", () => {
    const grant = (projectId: string): Resource => ({
      case: "projectGrant",
      value: { projectId, organizationId: "o2" },
    })
    expect(ask("grant1", grant("p1"))).toBe("ok")
    expect(ask("grant1", grant("p2"))).toBe(
      "not_found: there is no such project grant (grant.missing)",
    )
  })

  test("refuses a request that names nothing", () => {
    expect(ask("owner")).toMatch(
      /^invalid_argument: say what this is about with one of: resource\./,
    )
    expect(ask("owner", { case: "instance", value: false })).toMatch(/^invalid_argument: /)
  })
})

describe("an open operation", () => {
  test("that is public needs no token", () => {
    expect(tryAs(null, SystemService.method.healthz, {})).toBe("ok")
  })

  test("that asks only for a token asks for one", () => {
    expect(tryAs(null, AuthService.method.getMyUser, {})).toMatch(/^unauthenticated: /)
    expect(tryAs("nobody", AuthService.method.getMyUser, {})).toBe("ok")
  })
})
