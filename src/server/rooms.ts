import type { Authority } from "../api/access.ts"
import * as app from "../domain/app/index.ts"
import * as authorization from "../domain/authorization/index.ts"
import * as feature from "../domain/feature/index.ts"
import * as grant from "../domain/grant/index.ts"
import * as group from "../domain/group/index.ts"
import * as instance from "../domain/instance/index.ts"
import * as key from "../domain/key/index.ts"
import * as member from "../domain/member/index.ts"
import * as org from "../domain/org/index.ts"
import * as orgReach from "../domain/orgreach/index.ts"
import * as project from "../domain/project/index.ts"
import * as projectGrant from "../domain/projectgrant/index.ts"
import * as quota from "../domain/quota/index.ts"
import * as session from "../domain/session/index.ts"
import * as user from "../domain/user/index.ts"
import type { Outbound } from "../kernel/outbound.ts"
import { backChannelLogout } from "../oauth/index.ts"
import type { Cx, Reactor } from "../store/index.ts"

/** Every kind of stream. */
export const aggregates = [
  ...instance.aggregates,
  ...feature.aggregates,
  ...quota.aggregates,
  ...org.aggregates,
  ...user.aggregates,
  ...project.aggregates,
  ...projectGrant.aggregates,
  ...app.aggregates,
  ...member.aggregates,
  ...authorization.aggregates,
  ...key.aggregates,
  ...session.aggregates,
  ...grant.aggregates,
  ...group.aggregates,
]

/** Every read model. */
export const views = [
  instance.instanceHostView,
  instance.instanceView,
  ...org.views,
  ...user.views,
  ...project.views,
  ...projectGrant.views,
  app.appView,
  member.memberView,
  ...authorization.views,
  key.webKeyView,
  ...session.views,
  ...grant.views,
  ...group.views,
]

/**
 * Everything that happens outside of transactions because of an event. `call` is a call of the
 * process itself, by a name, on the instance of an event.
 */
export const reactors = (
  call: (instance: string, name: string) => Cx,
  outbound: Outbound,
): readonly Reactor[] => [
  session.sessionEnds(call),
  backChannelLogout(call, outbound),
  quota.quotaNotifications(call),
  orgReach.organizationRemoval(call),
  orgReach.domainClaims(call),
]

/** Who owns what, and who may do what. */
export const authority: Authority<Cx> = {
  resources: {
    ...instance.chains,
    ...org.chains,
    ...user.chains,
    ...project.chains,
    ...projectGrant.chains,
    ...app.chains,
    ...authorization.chains,
    ...group.chains,
  },
  memberships: member.memberships,
  permissions: member.rolePermissions,
  outranks: member.outranks,
  outranksAll: member.outranksAll,
}
