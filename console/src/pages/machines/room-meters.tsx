/** What is used of machines, as bars. Virtual GPUs of which none is used are one line, since there is one of each type there is. */
import { Meter } from "../../design/meter.tsx";
import css from "./machines.module.css";
import { type Amount, textOfAmount } from "./room.ts";

export function RoomMeters({ amounts }: { amounts: readonly Amount[] }) {
  const shown = amounts.filter(({ isVirtual, used }) => !isVirtual || used > 0);
  const unused = amounts.length - shown.length;
  return (
    <div className={css.stack}>
      <div className={css.meters}>
        {shown.map((amount) => (
          <Meter
            key={amount.id}
            label={amount.isVirtual ? `${amount.label} (virtual)` : amount.label}
            used={amount.used}
            most={amount.most}
            format={(value) => textOfAmount(amount, value)}
          />
        ))}
      </div>
      {unused > 0 && (
        <p className={css.small}>
          {unused} types of virtual GPUs are unused. They stand in for real ones, and programs find no device.
        </p>
      )}
    </div>
  );
}
