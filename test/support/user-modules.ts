import { module as credential } from "../../src/domain/credential/index.ts"
import { module as factor } from "../../src/domain/factor/index.ts"
import { module as lockout } from "../../src/domain/lockout/index.ts"
import { module as registration } from "../../src/domain/registration/index.ts"
import { module as serviceAccount } from "../../src/domain/service-account/index.ts"
import { module as user } from "../../src/domain/user/index.ts"
import { module as userLookup } from "../../src/domain/user-lookup/index.ts"

/** The modules of users, except those without operations. */
export const userModules = [
  lockout,
  credential,
  factor,
  user,
  userLookup,
  serviceAccount,
  registration,
] as const

/** The streams of users. */
export const aggregates = [
  ...userLookup.aggregates,
  ...lockout.aggregates,
  ...registration.aggregates,
] as const

/** The read models of users. */
export const views = [...userLookup.views, ...user.views, ...lockout.views] as const

const read = await Promise.all(userModules.map(({ operations }) => operations()))

/** The operations about users. */
export const shares = read.flatMap((each) => [...each.shares])
