import { dropBefore } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { keepRounds } from "./round.ts"

const every = 3_600_000

/** Removes the copy that an upgrade has left in the folder, some days after. */
export const keepDroppingBefore = (
  { clock, log }: Pick<ServerServices, "clock" | "log">,
  database: string,
) =>
  keepRounds(clock, every, async () => {
    if (dropBefore(database, clock.now())) log.info("removed what was kept from before the upgrade")
  })
