/** What a list shows of a record. */
import type { ReactNode } from "react";

export interface Column<Row> {
  id: string;
  title: string;
  /** What is sorted by and exported. */
  value: (row: Row) => string | number | boolean | null | undefined;
  /** What is shown, where that is more than the value. */
  cell?: (row: Row) => ReactNode;
  /** The fields of the record that it shows, where its id is not the name of one. */
  fields?: readonly string[];
  isNumber?: boolean;
  /** In px, in lists of thousands: their columns stay as wide as they are, whatever comes into sight. One column has none, and takes the rest. */
  width?: number;
  /** It takes the width that the others leave, so that a reason can be read. */
  isWide?: boolean;
  /** In the list of columns, and not shown until it is chosen. */
  isExtra?: boolean;
}
