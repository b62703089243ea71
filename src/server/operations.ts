import { book } from "../api/book.ts"
import { join } from "../api/method.ts"
import * as app from "../domain/app/api.ts"
import * as authorization from "../domain/authorization/api.ts"
import * as feature from "../domain/feature/api.ts"
import * as grant from "../domain/grant/api.ts"
import * as group from "../domain/group/api.ts"
import * as history from "../domain/history/api.ts"
import * as instance from "../domain/instance/api.ts"
import * as key from "../domain/key/api.ts"
import * as member from "../domain/member/api.ts"
import * as org from "../domain/org/api.ts"
import * as orgReach from "../domain/orgreach/api.ts"
import * as project from "../domain/project/api.ts"
import * as projectGrant from "../domain/projectgrant/api.ts"
import * as quota from "../domain/quota/api.ts"
import * as refusal from "../domain/refusal/api.ts"
import * as session from "../domain/session/api.ts"
import * as setup from "../domain/setup/api.ts"
import * as user from "../domain/user/api.ts"

/** Every operation of the book with the room's answer to it. */
export const operations = () =>
  join(book, [
    ...instance.shares,
    ...feature.shares,
    ...quota.shares,
    ...setup.shares,
    ...org.shares,
    ...orgReach.shares,
    ...user.shares,
    ...project.shares,
    ...projectGrant.shares,
    ...app.shares,
    ...member.shares,
    ...authorization.shares,
    ...group.shares,
    ...history.shares,
    ...key.shares,
    ...session.shares,
    ...grant.shares,
    ...refusal.shares,
  ])
